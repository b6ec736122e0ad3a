#include "support/method_trial.hpp"

#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

constexpr const char* kBare = "projector = \"none\"\npredictor_hidden = 5";

TEST_CASE("simsiam equals the published loss and its gradients", "[parity]") {
  const auto file = test::find_vector("simsiam_loss");
  if (!file) return;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor z1 = test::leaf(file->at("z1"), dtype), z2 = test::leaf(file->at("z2"), dtype);
    const at::Tensor p1 = test::leaf(file->at("p1"), dtype), p2 = test::leaf(file->at("p2"), dtype);
    const int64_t width = z1.size(1);
    MethodTrial trial("simsiam",
                      "projector = \"none\"\npredictor_hidden = " + std::to_string(width + 1),
                      {z1, z2});
    trial.host.heads =
        std::make_shared<test::StandInLayers>(width, std::vector<at::Tensor>{p1, p2});
    const double loss = trial.build().step({z1, z2});
    CHECK(deviation(*file, "loss", loss, dtype) < tolerance(dtype, 1e-6));
    CHECK(deviation(*file, "dp1", p1.grad()) < tolerance(dtype, 1e-7));
    CHECK(deviation(*file, "dp2", p2.grad()) < tolerance(dtype, 1e-7));
    CHECK_FALSE(z1.grad().defined());  // targets stand still
  }
}

TEST_CASE("gradients of simsiam's predictor are those of finite differences") {
  const std::vector<at::Tensor> views = {at::randn({6, 3}, at::kDouble),
                                         at::randn({6, 3}, at::kDouble)};
  MethodTrial trial("simsiam", kBare, views);
  trial.build().step(views);
  REQUIRE(trial.trained.parameters.size() == 5);
  CHECK(test::slope_error(trial.trained.parameters, [&] { return trial.step(views); }) < 1e-7);
}

TEST_CASE("simsiam's predictor keeps the first learning rate unless told otherwise") {
  struct Policies final : Trainables {
    void add(const at::Tensor&, Policy policy, double) override { all.push_back(policy); }
    std::vector<Policy> all;
  };
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  for (const bool fixed : {true, false}) {
    MethodTrial trial(
        "simsiam", std::string(kBare) + (fixed ? "" : "\npredictor_rate = \"scheduled\""), views);
    trial.build();
    Policies policies;
    trial.method->trainable(policies);
    for (const Policy p : policies.all) CHECK(p == (fixed ? Policy::fixed_rate : Policy::normal));
  }
}

TEST_CASE("simsiam goes on from its state") {
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  const char* toml = "hidden = 8\nembedding = 6\npredictor_hidden = 5";
  MethodTrial one(std::string("simsiam"), toml, views), two("simsiam", toml, views, 1);
  one.build().step(views);
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

}  // namespace
