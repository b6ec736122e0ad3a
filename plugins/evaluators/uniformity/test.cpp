#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using test::RecordedEvaluation;

at::Tensor labels(std::vector<int64_t> of) { return at::tensor(of, at::kLong); }

TEST_CASE("uniformity of a simplex: all class means are as far apart as can be") {
  constexpr int64_t kClasses = 7;
  // Unit rows with cosines −1/(C − 1).
  const at::Tensor simplex = (at::eye(kClasses) - 1.0 / kClasses) *
                             std::sqrt(static_cast<double>(kClasses) / (kClasses - 1));
  // Samples on both sides of the means, so that nothing but the means has these distances.
  const at::Tensor side = at::eye(kClasses).roll(2, 1) * 3;
  RecordedEvaluation evaluation;
  evaluation.counts = at::full({kClasses}, 2, at::kLong);
  evaluation.give("train", at::cat({simplex + side, simplex - side}),
                  at::arange(2 * kClasses, at::kLong).remainder(kClasses));
  const double distance = std::sqrt(2.0 * kClasses / (kClasses - 1));
  for (const char* k : {"k = 1", "k = 3", "k = 6"}) {
    test::load<Evaluator>("uniformity", k)->evaluate(evaluation);
    for (const char* name : {"inter_class", "neighbourhood", "inter_class_many",
                             "inter_class_medium", "neighbourhood_few"})
      CHECK(evaluation.metrics.at(name) == Approx(distance).epsilon(1e-6));
  }
}

TEST_CASE("uniformity of classes on a line, by the paper's two sums") {
  // Means 0, 1, 3, 7; the second of two samples.
  RecordedEvaluation evaluation;
  evaluation.counts = labels({9, 5, 3, 2});
  evaluation.give("train", at::tensor({0.0F, 1.0F, 2.0F, 4.0F, 7.0F}).unsqueeze(1),
                  labels({0, 1, 2, 2, 3}), {"a", "b", "c", "d"});
  test::load<Evaluator>("uniformity", "k = 2")->evaluate(evaluation);
  // Ordered pairs: 2·(1 + 3 + 7 + 2 + 6 + 4) over 4·3.
  CHECK(evaluation.metrics.at("inter_class") == Approx(46.0 / 12));
  // Two nearest of each: 1 + 3, 1 + 2, 2 + 3, 4 + 6, over 4·2.
  CHECK(evaluation.metrics.at("neighbourhood") == Approx(22.0 / 8));
  // The smallest class alone; the two largest.
  CHECK(evaluation.metrics.at("inter_class_few") == Approx((7 + 6 + 4) / 3.0));
  CHECK(evaluation.metrics.at("neighbourhood_few") == Approx(5));
  CHECK(evaluation.metrics.at("neighbourhood_many") == Approx((2 + 1.5) / 2));
  CHECK_THAT(evaluation.definitions.at("neighbourhood"), Catch::Contains("the 2 nearest"));
  test::load<Evaluator>("uniformity")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("neighbourhood") == Approx((1 + 1 + 2 + 4) / 4.0));
  const auto& rows = evaluation.tables.at("classes").rows;
  CHECK(rows.front() == std::vector<std::string>{"c", "2", "3.000", "2.000", "b"});
  CHECK(rows.back() == std::vector<std::string>{"d", "1", "5.667", "4.000", "c"});
}

TEST_CASE("uniformity takes features as they are, or samples of unit length before means") {
  RecordedEvaluation evaluation;
  evaluation.counts = labels({2, 1});
  // Class 0: (2, 0) and (0, 4); class 1: (0, −3).
  evaluation.give("train", at::tensor({2.0F, 0.0F, 0.0F, 4.0F, 0.0F, -3.0F}).view({3, 2}),
                  labels({0, 0, 1}));
  test::load<Evaluator>("uniformity")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("inter_class") == Approx(std::sqrt(1.0 + 25)));
  CHECK(evaluation.metrics.at("length") == Approx(3));
  test::load<Evaluator>("uniformity", "normalize = \"unit\"")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("inter_class") == Approx(std::sqrt(0.25 + 2.25)));
  CHECK(evaluation.metrics.at("length") == Approx(3));
  CHECK_THAT(evaluation.definitions.at("inter_class"), Catch::Contains("unit length"));
}

TEST_CASE("uniformity leaves out classes without samples; a group of such has no value") {
  RecordedEvaluation evaluation;
  evaluation.counts = labels({9, 5, 2});
  evaluation.give("train", at::tensor({0.0F, 4.0F}).unsqueeze(1), labels({0, 1}));
  test::load<Evaluator>("uniformity")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("inter_class") == Approx(4));
  CHECK(std::isnan(evaluation.metrics.at("inter_class_few")));
  CHECK_THAT(evaluation.definitions.at("inter_class"), Catch::Contains("2 classes"));
  CHECK(evaluation.tables.at("classes").rows.back().at(2) == "—");
}

TEST_CASE("uniformity refuses more neighbours than classes, one class and missing labels") {
  RecordedEvaluation evaluation;
  evaluation.counts = labels({1, 1});
  evaluation.give("train", at::eye(2), labels({0, 1}));
  CHECK_THROWS_WITH(test::load<Evaluator>("uniformity", "k = 2")->evaluate(evaluation),
                    Catch::Contains("k = 2") && Catch::Contains("1 others"));
  evaluation.give("train", at::eye(2), labels({1, 1}));
  CHECK_THROWS_WITH(test::load<Evaluator>("uniformity")->evaluate(evaluation),
                    Catch::Contains("1 classes"));
  EvalFacts facts;
  test::CollectedComplaints complaints;
  test::load<Evaluator>("uniformity", "groups = \"sizes\"")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains("labels") && Catch::Contains("no split 'train'") &&
                                  Catch::Contains("groups"));
}

}  // namespace
