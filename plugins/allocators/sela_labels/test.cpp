#include "support/method_trial.hpp"

#include "gh/rows.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

namespace {

using namespace gh;

class Reported final : public AssignReport {
 public:
  void scalar(std::string_view name, double value) override { values[std::string(name)] = value; }
  std::map<std::string, double> values;
};

constexpr int64_t kSamples = 60, kPoints = 4, kWidth = 3;

// Positions begin at 2, the last comes first.
FitRequest some_samples() {
  FitRequest request;
  request.embeddings = at::randn({kSamples, kWidth}) + 1;
  request.points = unit_rows(at::randn({kPoints, kWidth}, at::kDouble));
  request.indices = at::arange(kSamples, at::kLong).flip(0) + 2;
  return request;
}

AssignRequest batch(const at::Tensor& indices) {
  AssignRequest request;
  request.logits = at::rand({indices.size(0), kPoints});
  request.indices = indices;
  return request;
}

struct Expected {
  at::Tensor labels;
  int64_t rounds = 0;
};

// The published loop as it stands: P = softmax^power, columns to π and rows to 1/N.
Expected published(const FitRequest& request, double temperature, double power, double tolerance,
                   const at::Tensor& prior) {
  const at::Tensor z = unit_rows(request.embeddings.to(at::kDouble));
  const at::Tensor logits = unit_rows(z.matmul(request.points.t()));
  const at::Tensor p = at::softmax(logits / temperature, 1).pow(power);
  const double n = static_cast<double>(p.size(0));
  at::Tensor c = at::full({p.size(0)}, 1 / n, at::kDouble), r;
  Expected out;
  for (double error = 1e9; error > tolerance; ++out.rounds) {
    r = prior / p.t().mv(c);
    const at::Tensor next = 1 / n / p.mv(r);
    if (out.rounds % 10 == 0) error = (c / next - 1).abs().sum().item<double>();
    c = next;
  }
  out.labels = (p * r).argmax(1);
  return out;
}

TEST_CASE("sela_labels gives the labels of the published loop, under any prior") {
  const at::Tensor uniform = at::full({kPoints}, 1.0 / kPoints, at::kDouble);
  for (const at::Tensor& prior : {at::Tensor(), at::tensor({0.5, 0.2, 0.0, 0.3}, at::kDouble)}) {
    FitRequest request = some_samples();
    request.prior = prior;
    auto allocator =
        test::load<Allocator>("sela_labels", "temperature = 0.2\npower = 5.0\ntolerance = 1e-3");
    Reported report;
    CHECK(!allocator->fit(request, report).defined());
    const Expected expected = published(request, 0.2, 5, 1e-3, prior.defined() ? prior : uniform);
    CHECK(report.values.at("iterations") == static_cast<double>(expected.rounds));
    CHECK(report.values.at("change") <= 1e-3);
    const AssignRequest first = batch(request.indices), second = batch(request.indices);
    const at::Tensor targets = allocator->assign(first, report);
    CHECK(targets.argmax(1).equal(expected.labels));
    CHECK(targets.sum(1).eq(1).all().item<bool>());
    CHECK(targets.equal(allocator->assign(second, report)));
    if (prior.defined()) CHECK(targets.select(1, 2).sum().item<double>() == 0);
  }
}

TEST_CASE("sela_labels gives a sample that was not fitted its largest logit, and resumes") {
  auto allocator = test::load<Allocator>("sela_labels");
  Reported report;
  const AssignRequest early = batch(at::arange(5, at::kLong));
  CHECK(allocator->assign(early, report).argmax(1).equal(early.logits.argmax(1)));
  const FitRequest request = some_samples();
  allocator->fit(request, report);
  const AssignRequest late = batch(at::tensor({0, 1, 1000}, at::kLong));
  CHECK(allocator->assign(late, report).argmax(1).equal(late.logits.argmax(1)));
  test::NamedState saved;
  allocator->visit_state(saved);
  test::NamedState loader(true);
  loader.tensors = saved.tensors;
  auto resumed = test::load<Allocator>("sela_labels");
  resumed->visit_state(loader);
  const AssignRequest all = batch(request.indices);
  CHECK(resumed->assign(all, report).equal(allocator->assign(all, report)));
}

TEST_CASE("sela_labels refuses what it cannot allocate") {
  CHECK(test::load<Allocator>("sela_labels", "every = 3")->fit_every() == 3);
  AllocatorFacts facts;
  facts.points = 10;
  facts.samples = 9;
  facts.differentiable = true;
  test::CollectedComplaints complaints;
  test::load<Allocator>("sela_labels", "power = 300.0")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains("10 points") &&
                                  Catch::Contains(".harmonize.targets: ") &&
                                  Catch::Contains("ln(points)"));
  FitRequest request = some_samples();
  request.embeddings[3][1] = std::nan("");
  Reported report;
  CHECK_THROWS_WITH(test::load<Allocator>("sela_labels")->fit(request, report),
                    Catch::Contains("not finite"));
}

}  // namespace
