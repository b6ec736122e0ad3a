#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/diag.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using test::RecordedEvaluation;

// ±aᵢ along each axis, far from the origin: singular values √2·aᵢ.
at::Tensor cross(const std::vector<float>& lengths) {
  const at::Tensor axes = at::diag(at::tensor(lengths));
  return at::cat({axes, -axes}) + 50;
}

RecordedEvaluation evaluate(const at::Tensor& x, const at::Tensor& targets,
                            const at::Tensor& counts, const std::string& params = "") {
  RecordedEvaluation evaluation;
  evaluation.counts = counts;
  evaluation.give("train", x, targets);
  test::load<Evaluator>("effective_rank", params)->evaluate(evaluation);
  return evaluation;
}

at::Tensor labels(std::vector<int64_t> of) { return at::tensor(of, at::kLong); }

TEST_CASE("effective rank of equal singular values is how many there are") {
  const auto out = evaluate(cross({2, 2, 0, 2, 2}), at::zeros({10}, at::kLong), labels({10}));
  CHECK(out.metrics.at("effective_rank") == Approx(4));
  CHECK(out.metrics.at("participation_ratio") == Approx(4));
  CHECK(out.pictures.at("spectrum").find("<svg") != std::string::npos);
}

TEST_CASE("effective rank of unequal singular values is exp of their entropy") {
  // Shares 3/4 and 1/4; variances 9 and 1.
  const auto out = evaluate(cross({1, 3}), at::zeros({4}, at::kLong), labels({4}));
  const double entropy = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  CHECK(out.metrics.at("effective_rank") == Approx(std::exp(entropy)));
  CHECK(out.metrics.at("participation_ratio") == Approx(100.0 / 82));
}

TEST_CASE("effective rank of a group is that of its samples about their own mean") {
  // Class 0 spreads along two axes, class 1 along one, class 2 is one sample, class 3 has none.
  const at::Tensor x = at::cat({cross({1, 1, 0}), cross({0, 0, 5}) + 9, at::ones({1, 3})});
  const auto out = evaluate(x, labels({0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2}),
                            labels({6, 6, 1, 0}), "groups = \"lists(0; 1; 2; 3)\"");
  CHECK(out.metrics.at("effective_rank_g1") == Approx(2));
  CHECK(out.metrics.at("effective_rank_g2") == Approx(1));
  CHECK(out.metrics.at("participation_ratio_g2") == Approx(1));
  for (const char* none : {"effective_rank_g3", "effective_rank_g4", "participation_ratio_g4"})
    CHECK(std::isnan(out.metrics.at(none)));
}

TEST_CASE("effective rank of features that collapsed is no number; labels are not needed") {
  const auto out = evaluate(at::full({6, 3}, 0.1), {}, {});
  CHECK(std::isnan(out.metrics.at("effective_rank")));
  CHECK(std::isnan(out.metrics.at("participation_ratio")));
  CHECK(out.metrics.size() == 2);
  EvalFacts facts;
  test::CollectedComplaints complaints;
  test::load<Evaluator>("effective_rank", "groups = \"sizes\"")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains("no split 'train'") && Catch::Contains("groups"));
}

}  // namespace
