#include "support/method_trial.hpp"

#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

TEST_CASE("moco_v3 equals the published loss and its gradients", "[parity]") {
  const auto file = test::find_vector("mocov3_loss");
  if (!file) return;
  int compared = 0;
  for (const std::string& t : test::endings(*file, "loss_T")) {
    if (t.ends_with("_f64")) continue;
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const at::Tensor q1 = test::leaf(file->at("q1"), dtype);
      const at::Tensor q2 = test::leaf(file->at("q2"), dtype);
      const int64_t width = q1.size(1);
      const std::vector<at::Tensor> views(2, at::randn(q1.sizes(), q1.options()));
      MethodTrial trial(
          "moco_v3",
          "projector = \"none\"\ntemperature = " + t + "\nhidden = " + std::to_string(width + 1),
          views);
      trial.host.heads =
          std::make_shared<test::StandInLayers>(width, std::vector<at::Tensor>{q1, q2});
      trial.host.encoders["twin"] = std::make_shared<test::StandInEncoder>(
          width, std::vector<at::Tensor>{file->at("k1").to(dtype), file->at("k2").to(dtype)});
      const double loss = trial.build().step(views);
      INFO("temperature " << t);
      CHECK(deviation(*file, "loss_T" + t, loss, dtype) < tolerance(dtype, 2e-6));
      CHECK(deviation(*file, "dq1_T" + t, q1.grad()) < tolerance(dtype, 1e-7));
      CHECK(deviation(*file, "dq2_T" + t, q2.grad()) < tolerance(dtype, 1e-7));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("moco_v3's twin follows the published schedule, one step ahead of its update",
          "[parity]") {
  const auto file = test::find_vector("ssl_schedules");
  if (!file) return;
  const at::Tensor expected = file->at("mocov3_momentum");
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  MethodTrial trial(
      "moco_v3", "projector = \"none\"\nhidden = 4\nmomentum = " + file->metadata.at("mocov3_base"),
      views);
  trial.build();
  trial.host.progress().steps = expected.numel();
  // Published: before the forward of step k with its momentum, so after step k − 1.
  for (int64_t step = 1; step < expected.numel(); ++step) {
    trial.finish_step();
    CHECK(trial.host.values.at("twin_momentum").back() ==
          Approx(expected[step].item<double>()).epsilon(1e-12));
  }
}

TEST_CASE("gradients of moco_v3's predictor are those of finite differences") {
  const std::vector<at::Tensor> views = {at::randn({6, 3}, at::kDouble),
                                         at::randn({6, 3}, at::kDouble)};
  MethodTrial trial("moco_v3", "projector = \"none\"\nhidden = 5", views);
  trial.build().step(views);
  REQUIRE(trial.trained.parameters.size() == 4);
  CHECK(test::slope_error(trial.trained.parameters, [&] { return trial.step(views); }) < 1e-7);
}

TEST_CASE("moco_v3 goes on from its state, twin included") {
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  const char* toml = "hidden = 8\nembedding = 6";
  MethodTrial one("moco_v3", toml, views), two("moco_v3", toml, views, 1);
  one.build().step(views);
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

}  // namespace
