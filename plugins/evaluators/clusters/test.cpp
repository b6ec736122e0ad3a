#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace {

using namespace gh;

class Harmonized final : public test::RecordedEvaluation {
 public:
  at::Tensor points() override { return points_; }
  at::Tensor points_;
};

at::Tensor labels(std::vector<int64_t> of) { return at::tensor(of, at::kLong); }

TEST_CASE("clusters finds classes that lie apart") {
  test::RecordedEvaluation evaluation;
  const at::Tensor of = at::arange(90, at::kLong).remainder(3);
  const at::Tensor noise = at::empty({90, 3});
  Random(1).fill_normal(noise, 0, 0.02);
  evaluation.counts = of.bincount();
  evaluation.give("train", at::eye(3).index_select(0, of) + noise, of);
  for (const std::string metric : {"spherical", "euclidean"}) {
    test::load<Evaluator>("clusters", "metric = \"" + metric + "\"")->evaluate(evaluation);
    for (const char* name : {"nmi_arithmetic", "nmi_geometric"})
      CHECK(evaluation.metrics.at(name) == Approx(1));
    CHECK(evaluation.metrics.at("mutual_information") == Approx(std::log(3)));
    for (const char* name : {"purity", "purity_many", "purity_few"})
      CHECK(evaluation.metrics.at(name) == Approx(100));
    CHECK(evaluation.metrics.at("used") == 3);
  }
  CHECK_THAT(evaluation.definitions.at("nmi_arithmetic"),
             Catch::Contains("arithmetic mean") && Catch::Contains("Euclidean K-means") &&
                 Catch::Contains("3 clusters"));
  CHECK_THAT(evaluation.definitions.at("nmi_geometric"), Catch::Contains("geometric mean"));
}

TEST_CASE("clusters: definitions do not depend on how many rounds it took") {
  std::map<std::string, std::string> before;
  std::set<double> rounds;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    test::RecordedEvaluation evaluation;
    const at::Tensor x = at::empty({60, 3});
    Random(seed).fill_normal(x, 0, 1);
    const at::Tensor of = at::arange(60, at::kLong).remainder(3);
    evaluation.counts = of.bincount();
    evaluation.give("train", x, of);
    test::load<Evaluator>("clusters")->evaluate(evaluation);
    if (!before.empty()) CHECK(evaluation.definitions == before);
    before = evaluation.definitions;
    rounds.insert(evaluation.metrics.at("rounds"));
  }
  REQUIRE(rounds.size() > 1);  // or nothing was tested
}

TEST_CASE("clusters by cosine knows no lengths, by distance it does") {
  test::RecordedEvaluation evaluation;
  // Classes are directions; the long rows of both lie nearer to each other than to the short ones.
  const at::Tensor x = at::tensor({100.0F, 0.0F, 101.0F, 0.0F, 1.0F, 0.0F, 1.1F, 0.0F,  //
                                   100.0F, 20.0F, 101.0F, 20.2F, 1.0F, 0.2F, 1.1F, 0.22F})
                           .view({8, 2});
  evaluation.counts = labels({4, 4});
  evaluation.give("train", x, labels({0, 0, 0, 0, 1, 1, 1, 1}));
  test::load<Evaluator>("clusters")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("nmi_arithmetic") == Approx(1));
  test::load<Evaluator>("clusters", "metric = \"euclidean\"")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("nmi_arithmetic") == Approx(0).margin(1e-9));
}

TEST_CASE("clusters: in one cluster the head is pure and the tail is lost") {
  test::RecordedEvaluation evaluation;
  const at::Tensor x = at::empty({10, 4});
  Random(2).fill_normal(x, 0, 1);
  evaluation.counts = labels({6, 3, 1});
  evaluation.give("train", x, labels({0, 0, 0, 0, 0, 0, 1, 1, 1, 2}), {"a", "b", "c"});
  test::load<Evaluator>("clusters", "points = 1")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("purity") == Approx(60));
  CHECK(evaluation.metrics.at("purity_many") == Approx(100));
  CHECK(evaluation.metrics.at("purity_medium") == 0);
  CHECK(evaluation.metrics.at("purity_few") == 0);
  CHECK(evaluation.metrics.at("nmi_arithmetic") == 0);
  CHECK(evaluation.tables.at("clusters").rows ==
        std::vector<std::vector<std::string>>{{"0", "10", "a", "60.0"}});
}

TEST_CASE("clusters by structure have the agreement of the parity vector") {
  const auto file = test::find_vector("eval_nmi");
  if (!file) return;
  int cases = 0;
  for (; file->has("case" + std::to_string(cases) + "_pred"); ++cases) {
    const std::string prefix = "case" + std::to_string(cases) + "_";
    const at::Tensor said = file->at(prefix + "pred"), truth = file->at(prefix + "truth");
    const int64_t points = said.max().item<int64_t>() + 2;  // one more, which nobody takes
    Harmonized evaluation;
    evaluation.points_ = at::eye(points);
    evaluation.counts = truth.bincount();
    evaluation.give("train", 3 * at::one_hot(said, points).to(at::kFloat), truth);
    test::load<Evaluator>("clusters", "source = \"structure\"")->evaluate(evaluation);
    for (const std::string name : {"nmi_arithmetic", "nmi_geometric"})
      CHECK(evaluation.metrics.at(name) ==
            Approx(file->at(prefix + name).item<double>()).margin(1e-10).epsilon(0));
    CHECK(evaluation.metrics.at("mutual_information") ==
          Approx(file->at(prefix + "mutual_information_nats").item<double>())
              .margin(1e-10)
              .epsilon(0));
    const std::vector<std::string>& last = evaluation.tables.at("clusters").rows.back();
    CHECK(last == std::vector<std::string>{std::to_string(points - 1), "0", "—", "—"});
  }
  CHECK(cases > 0);
}

TEST_CASE("clusters refuses a structure that is not there, too many clusters and missing labels") {
  test::RecordedEvaluation evaluation;
  evaluation.counts = labels({1, 1});
  evaluation.give("train", at::eye(2), labels({0, 1}));
  CHECK_THROWS_WITH(
      test::load<Evaluator>("clusters", "source = \"structure\"")->evaluate(evaluation),
      Catch::Contains("[harmonize]"));
  CHECK_THROWS_WITH(test::load<Evaluator>("clusters", "points = 3")->evaluate(evaluation),
                    Catch::Contains("points = 3, but split 'train' has 2"));
  EvalFacts facts;
  facts.splits = {"test"};
  test::CollectedComplaints complaints;
  test::load<Evaluator>("clusters", "groups = \"sizes\"")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains("labels") && Catch::Contains("no split 'train'") &&
                                  Catch::Contains("groups"));
}

}  // namespace
