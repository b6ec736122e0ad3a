#include "support/method_trial.hpp"

#include "gh/schedule.hpp"

#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

TEST_CASE("byol equals the published loss and its gradients", "[parity]") {
  const auto file = test::find_vector("byol_loss");
  if (!file) return;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor p1 = test::leaf(file->at("p1"), dtype), p2 = test::leaf(file->at("p2"), dtype);
    const int64_t width = p1.size(1);
    const std::vector<at::Tensor> views(2, at::randn(p1.sizes(), p1.options()));
    MethodTrial trial("byol", "projector = \"none\"\nhidden = " + std::to_string(width + 1), views);
    trial.host.heads =
        std::make_shared<test::StandInLayers>(width, std::vector<at::Tensor>{p1, p2});
    trial.host.encoders["twin"] = std::make_shared<test::StandInEncoder>(
        width, std::vector<at::Tensor>{file->at("t1").to(dtype), file->at("t2").to(dtype)});
    const double loss = trial.build().step(views);
    CHECK(deviation(*file, "loss", loss, dtype) < tolerance(dtype, 2e-6));
    CHECK(deviation(*file, "dp1", p1.grad()) < tolerance(dtype, 1e-7));
    CHECK(deviation(*file, "dp2", p2.grad()) < tolerance(dtype, 1e-7));
  }
}

TEST_CASE("byol's twin follows the published schedule", "[parity]") {
  const auto file = test::find_vector("ssl_schedules");
  if (!file) return;
  const at::Tensor expected = file->at("byol_ema");
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  MethodTrial trial(
      "byol", "projector = \"none\"\nhidden = 4\nmomentum = " + file->metadata.at("byol_base"),
      views);
  trial.build();
  trial.host.progress().steps = static_cast<int64_t>(test::number(*file, "byol_steps"));
  for (int64_t step = 0; step < expected.numel(); ++step) {
    trial.finish_step();
    CHECK(trial.host.values.at("twin_momentum").back() ==
          Approx(expected[step].item<double>()).epsilon(1e-12));
  }
}

TEST_CASE("gradients of byol's predictor are those of finite differences") {
  const std::vector<at::Tensor> views = {at::randn({6, 3}, at::kDouble),
                                         at::randn({6, 3}, at::kDouble)};
  MethodTrial trial("byol", "projector = \"none\"\nhidden = 5", views);
  trial.build().step(views);
  REQUIRE(trial.trained.parameters.size() == 5);
  CHECK(test::slope_error(trial.trained.parameters, [&] { return trial.step(views); }) < 1e-7);
}

TEST_CASE("byol goes on from its state, twin included") {
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  const char* toml = "hidden = 8\nembedding = 6";
  MethodTrial one("byol", toml, views), two("byol", toml, views, 1);
  one.build().step(views);
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

}  // namespace
