#include "support/method_trial.hpp"

#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

std::string parameters(const host::TensorFile& file) {
  return "projector = \"none\"\nscale = 1.0\nredundancy = " + file.metadata.at("lambda_offdiag");
}

TEST_CASE("barlow_twins equals the published loss and its gradients", "[parity]") {
  const auto file = test::find_vector("barlow_loss");
  if (!file) return;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor z1 = test::leaf(file->at("z1"), dtype), z2 = test::leaf(file->at("z2"), dtype);
    MethodTrial trial("barlow_twins", parameters(*file), {z1, z2});
    const double loss = trial.build().step({z1, z2});
    CHECK(deviation(*file, "loss", loss, dtype) < tolerance(dtype, 5e-6));
    CHECK(deviation(*file, "dz1", z1.grad()) < tolerance(dtype, 1e-6));
    CHECK(deviation(*file, "dz2", z2.grad()) < tolerance(dtype, 1e-6));
  }
}

TEST_CASE("gradients of barlow_twins are those of finite differences") {
  const at::Tensor z1 = test::leaf(at::randn({6, 3}), at::kDouble);
  const at::Tensor z2 = test::leaf(at::randn({6, 3}), at::kDouble);
  MethodTrial trial("barlow_twins", "projector = \"none\"", {z1, z2});
  trial.build().step({z1, z2});
  CHECK(test::slope_error({z1, z2}, [&] { return trial.step({z1, z2}); }) < 1e-6);
}

TEST_CASE("barlow_twins spares what has one dimension, and gives it a rate of its own") {
  struct Policies final : Trainables {
    void add(const at::Tensor& p, Policy policy, double rate) override {
      const bool weight = p.dim() > 1;
      CHECK(policy == (weight ? Policy::normal : Policy::no_decay));
      CHECK(rate == (weight ? 1.0 : 0.024));
      ++count;
    }
    int count = 0;
  } policies;
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  MethodTrial trial("barlow_twins", "hidden = 8\nembedding = 6\nbias_rate = 0.024", views);
  trial.build();
  trial.method->trainable(policies);
  CHECK(policies.count == 7);
}

TEST_CASE("barlow_twins goes on from its state") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  const char* toml = "hidden = 8\nembedding = 6";
  MethodTrial one("barlow_twins", toml, views), two("barlow_twins", toml, views, 1);
  one.build().step(views);
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

TEST_CASE("barlow_twins refuses a batch of one sample") {
  RunFacts facts;
  facts.batch = 1;
  facts.view_shapes = {{2}, {2}};
  test::CollectedComplaints complaints;
  test::load<SslMethod>("barlow_twins")->check(facts, complaints);
  CHECK(complaints.text.starts_with(".train.batch: "));
}

}  // namespace
