#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;

at::Tensor labels(std::vector<int64_t> of) { return at::tensor(of, at::kLong); }

// The two views are draws 0 and 1 of the method's first view.
class TwoViews final : public test::RecordedEvaluation {
 public:
  TwoViews(at::Tensor first, at::Tensor second, at::Tensor targets)
      : first_{first, targets, {}}, second_{second, targets, {}} {
    if (targets.defined()) counts = targets.bincount();
  }
  const Features& features(const FeatureRequest& request) override {
    REQUIRE(request.views == "train");
    REQUIRE(request.level == FeatureLevel::embedding);
    return request.draw == 0 ? first_ : second_;
  }

 private:
  Features first_, second_;
};

TEST_CASE("alignment is the mean distance of two views on the sphere, to the power alpha") {
  // A right angle, the same direction at another length, opposite directions.
  TwoViews evaluation(at::tensor({2.0F, 0.0F, 0.0F, 3.0F, 1.0F, 0.0F}).view({3, 2}),
                      at::tensor({0.0F, 7.0F, 0.0F, 0.1F, -1.0F, 0.0F}).view({3, 2}),
                      labels({0, 0, 1}));
  test::load<Evaluator>("alignment")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("alignment") == Approx((2.0 + 0 + 4) / 3).epsilon(1e-6));
  test::load<Evaluator>("alignment", "alpha = 1\ngroups = \"lists(0; 1)\"")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("alignment") == Approx((std::sqrt(2) + 0 + 2) / 3).epsilon(1e-6));
  CHECK(evaluation.metrics.at("alignment_g1") == Approx(std::sqrt(2) / 2).epsilon(1e-6));
  CHECK(evaluation.metrics.at("alignment_g2") == Approx(2));
  CHECK_THAT(evaluation.definitions.at("alignment"), Catch::Contains("|x − y|^1"));
}

TEST_CASE("uniformity on the sphere: opposite, equal and random samples") {
  const at::Tensor opposite = at::tensor({1.0F, 0.0F, -2.0F, 0.0F}).view({2, 2});
  TwoViews two(opposite, opposite, labels({0, 1}));
  test::load<Evaluator>("alignment")->evaluate(two);
  CHECK(two.metrics.at("uniformity") == Approx(-8));
  test::load<Evaluator>("alignment", "t = 0.5\ngroups = \"lists(0; 1)\"")->evaluate(two);
  CHECK(two.metrics.at("uniformity") == Approx(-2));
  CHECK(std::isnan(two.metrics.at("uniformity_g1")));  // one sample has no pair
  TwoViews equal(opposite.abs(), opposite.abs(), labels({0, 0}));
  test::load<Evaluator>("alignment")->evaluate(equal);
  CHECK(equal.metrics.at("uniformity") == Approx(0).margin(1e-6));

  // More rows than are taken at a time, against all pairs.
  const at::Tensor x = at::empty({1500, 5});
  Random(3).fill_normal(x, 0.3, 1);
  const at::Tensor of = at::arange(1500, at::kLong).remainder(7).clamp_max(2);
  TwoViews many(x, x, of);
  test::load<Evaluator>("alignment", "groups = \"lists(0; 1; 2)\"")->evaluate(many);
  const auto plain = [](const at::Tensor& rows) {
    const at::Tensor unit = (rows / rows.norm(2, {1}, true)).to(at::kDouble);
    const at::Tensor square = (unit.unsqueeze(1) - unit.unsqueeze(0)).pow(2).sum(2);
    const auto n = static_cast<double>(rows.size(0));
    return std::log((at::exp(-2 * square).sum().item<double>() - n) / (n * (n - 1)));
  };
  CHECK(many.metrics.at("uniformity") == Approx(plain(x)).epsilon(1e-5));
  CHECK(many.metrics.at("uniformity_medium") ==
        Approx(plain(x.index_select(0, of.eq(1).nonzero().squeeze(1)))).epsilon(1e-5));
  CHECK(many.metrics.at("alignment") == Approx(0).margin(1e-9));
}

TEST_CASE("alignment needs no labels, and gives an empty group no value") {
  const at::Tensor x = at::tensor({1.0F, 0.0F, 0.0F, 1.0F}).view({2, 2});
  TwoViews unlabelled(x, x, {});
  test::load<Evaluator>("alignment")->evaluate(unlabelled);
  CHECK(unlabelled.metrics.size() == 2);
  TwoViews labelled(x, x, labels({0, 0}));
  labelled.counts = labels({2, 0});
  test::load<Evaluator>("alignment", "groups = \"lists(0; 1)\"")->evaluate(labelled);
  CHECK(labelled.metrics.at("uniformity_g1") == Approx(-4));
  CHECK(std::isnan(labelled.metrics.at("alignment_g2")));
  CHECK(std::isnan(labelled.metrics.at("uniformity_g2")));
  EvalFacts facts;
  test::CollectedComplaints complaints;
  test::load<Evaluator>("alignment", "groups = \"sizes\"")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains("no split 'train'") && Catch::Contains("groups"));
}

}  // namespace
