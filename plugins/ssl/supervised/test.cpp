#include "support/method_trial.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

RunFacts labelled(const std::vector<at::Tensor>& views, std::vector<int64_t> counts) {
  RunFacts facts = MethodTrial::facts_of(views);
  facts.class_counts = std::move(counts);
  return facts;
}

TEST_CASE("supervised equals the published logit-adjusted loss and its gradient", "[parity]") {
  const auto file = test::find_vector("logit_adjusted_ce");
  if (!file) return;
  const at::Tensor counts = file->at("counts");
  int compared = 0;
  for (const std::string& tau : test::endings(*file, "loss_tau")) {
    if (tau.ends_with("_f64")) continue;
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const at::Tensor logits = test::leaf(file->at("logits"), dtype);
      const at::Tensor x = at::randn({logits.size(0), 3}, logits.options().requires_grad(false));
      MethodTrial trial(
          "supervised", "adjust = " + tau,
          labelled({x}, {counts.data_ptr<int64_t>(), counts.data_ptr<int64_t>() + counts.numel()}),
          3);
      trial.host.heads =
          std::make_shared<test::StandInLayers>(logits.size(1), std::vector<at::Tensor>{logits});
      const double loss = trial.build().step({x}, file->at("label"));
      INFO("tau " << tau);
      CHECK(deviation(*file, "loss_tau" + tau, loss, dtype) < tolerance(dtype, 2e-6));
      CHECK(deviation(*file, "dlogits_tau" + tau, logits.grad()) < tolerance(dtype, 1e-7));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("supervised is plain cross-entropy by default, its gradients those of differences") {
  const at::Tensor x1 = test::leaf(at::randn({6, 3}), at::kDouble);
  const at::Tensor x2 = test::leaf(at::randn({6, 3}), at::kDouble);
  const at::Tensor labels = at::arange(6, at::kLong).remainder(3);
  MethodTrial trial("supervised", "", labelled({x1, x2}, {3, 2, 1}), 3);
  const double loss = trial.build().step({x1, x2}, labels);
  const at::Tensor w = trial.trained.parameters.at(0).detach();
  const at::Tensor b = trial.trained.parameters.at(1).detach();
  double sum = 0;
  for (const at::Tensor& x : {x1.detach(), x2.detach()})
    for (int64_t i = 0; i < 6; ++i) {
      const at::Tensor logits = w.matmul(x[i]) + b;
      sum += (logits.exp().sum().log() - logits[i % 3]).item<double>() / 12;
    }
  CHECK(loss == Approx(sum).epsilon(1e-12));
  CHECK(test::slope_error({x1, x2, trial.trained.parameters[0], trial.trained.parameters[1]}, [&] {
          return trial.step({x1, x2}, labels);
        }) < 1e-7);
}

TEST_CASE("supervised refuses data without labels, and GH on one view") {
  RunFacts facts = MethodTrial::facts_of({at::randn({4, 3})});
  facts.harmonized = true;
  test::CollectedComplaints complaints;
  test::load<SslMethod>("supervised")->check(facts, complaints);
  CHECK(complaints.text.find(".data: ") != std::string::npos);
  CHECK(complaints.text.find(".views: ") != std::string::npos);
}

TEST_CASE("supervised goes on from its state") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  const at::Tensor labels = at::arange(4, at::kLong).remainder(2);
  RunFacts facts = labelled(views, {2, 2}), other = facts;
  other.seed = 1;
  MethodTrial one("supervised", "adjust = 1.0", facts, 3),
      two("supervised", "adjust = 1.0", other, 3);
  one.build().step(views, labels);
  CHECK(two.build().step(views, labels) != one.step(views, labels));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views, labels) == one.step(views, labels));
}

}  // namespace
