#include "gh/ops/nearest.hpp"
#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"
#include "support/vectors.hpp"
#include "votes.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>
#include <set>

namespace {

using namespace gh;
using test::RecordedEvaluation;

at::Tensor labels(std::vector<int64_t> of) { return at::tensor(of, at::kLong); }

// Rows of the plane at these angles in degrees, of these lengths.
at::Tensor plane(const std::vector<std::pair<double, double>>& rows) {
  const at::Tensor x = at::zeros({static_cast<int64_t>(rows.size()), 2});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double angle = rows[i].first * std::numbers::pi / 180;
    x[static_cast<int64_t>(i)][0] = rows[i].second * std::cos(angle);
    x[static_cast<int64_t>(i)][1] = rows[i].second * std::sin(angle);
  }
  return x;
}

// One query of class `truth`: is it given to that class?
bool says(int64_t truth, const at::Tensor& query, const at::Tensor& bank, const at::Tensor& of,
          const std::string& params) {
  RecordedEvaluation evaluation;
  evaluation.counts = of.bincount();
  evaluation.give("train", bank, of);
  evaluation.give("test", query, labels({truth}));
  test::load<Evaluator>("knn", "missing = \"leave-out\"\n" + params)->evaluate(evaluation);
  return evaluation.metrics.at("accuracy") == 100;
}

TEST_CASE("knn predicts what the parity vector says, at each temperature and by majority") {
  const auto file = test::find_vector("eval_knn");
  if (!file) return;
  RecordedEvaluation evaluation;
  evaluation.counts = file->at("bank_label").bincount();
  evaluation.give("train", file->at("bank"), file->at("bank_label"));
  const std::string common =
      "missing = \"leave-out\"\nk = " + file->metadata.at("k") + "\ntemperature = ";
  const auto temperatures = test::endings(*file, "pred_t");
  REQUIRE(!temperatures.empty());
  for (const std::string& temperature : temperatures) {
    // All right where the expected predictions are taken for the truth.
    evaluation.give("test", file->at("query"), file->at("pred_t" + temperature));
    test::load<Evaluator>("knn", common + temperature)->evaluate(evaluation);
    CHECK(evaluation.metrics.at("accuracy") == 100);
    CHECK_THAT(evaluation.definitions.at("accuracy"),
               Catch::Contains("exp(cos/" + temperature + ")"));
  }
  evaluation.give("test", file->at("query"), file->at("query_label"));
  for (const std::string& temperature : test::endings(*file, "accuracy_t")) {
    test::load<Evaluator>("knn", common + temperature)->evaluate(evaluation);
    CHECK(evaluation.metrics.at("accuracy") ==
          Approx(file->at("accuracy_t" + temperature).item<double>()).epsilon(1e-6));
  }
  for (const std::string& ending : test::endings(*file, "gh_majority_k")) {
    const std::string k = ending.substr(0, ending.find('_'));
    test::load<Evaluator>("knn", "missing = \"leave-out\"\nvote = \"majority\"\nk = " + k)
        ->evaluate(evaluation);
    CHECK(evaluation.metrics.at("accuracy") ==
          Approx(100 * file->at("gh_majority_k" + ending).item<double>()).epsilon(1e-6));
  }
}

TEST_CASE("knn votes are those of the parity vector up to a factor a query") {
  const auto file = test::find_vector("eval_knn");
  if (!file) return;
  const auto unit = [&](const char* name) {
    const at::Tensor x = file->at(name).to(at::kDouble);
    return x / x.norm(2, {1}, true);
  };
  const auto k = static_cast<int64_t>(test::number(*file, "k"));
  const auto found =
      ops::nearest(unit("bank"), unit("query"), k, ops::NearestMetric::inner_product);
  CHECK(found.indices.equal(file->at("neighbours_f64")));
  for (const std::string& ending : test::endings(*file, "score_t")) {
    const double temperature = std::stod(ending);
    const at::Tensor expected = file->at("score_t" + ending);
    const at::Tensor votes = count_votes(found.indices, found.values, temperature,
                                         file->at("bank_label"), expected.size(1));
    const at::Tensor factor = (found.values.narrow(1, 0, 1) / temperature).exp();
    CHECK(test::largest_difference(votes.clamp_min(0) * factor, expected) <
          1e-12 * expected.max().item<double>());
  }
}

TEST_CASE("knn: the temperature decides between one near and two farther neighbours") {
  const double far = std::acos(0.8) * 180 / std::numbers::pi;
  const at::Tensor bank = plane({{0, 1}, {far, 2}, {-far, 5}}), of = labels({0, 1, 1});
  const at::Tensor query = plane({{0, 3}});
  // 2·exp(0.8/T) against exp(1/T): even at T = 0.2/ln 2 = 0.2885.
  CHECK(says(1, query, bank, of, "k = 3\ntemperature = 0.3"));
  CHECK(says(0, query, bank, of, "k = 3\ntemperature = 0.28"));
  CHECK(says(0, query, bank, of, "k = 3\ntemperature = 1e-5"));
  CHECK(says(0, query, bank, of, "k = 1\ntemperature = 100"));
}

TEST_CASE(
    "knn: weighted votes go by direction, the majority by distance, ties to the lowest label") {
  const at::Tensor bank = plane({{0, 10}, {60, 1}}), query = plane({{1, 1}});
  CHECK(says(0, query, bank, labels({0, 1}), "k = 1"));
  CHECK(says(1, query, bank, labels({0, 1}), "k = 1\nvote = \"majority\""));
  // The nearer one has the higher label.
  CHECK(says(0, query, bank, labels({0, 1}), "k = 2\nvote = \"majority\""));
  CHECK(says(0, query, bank, labels({1, 0}), "k = 2\nvote = \"majority\""));
}

TEST_CASE("knn keeps the order of many queries") {
  RecordedEvaluation evaluation;
  const at::Tensor of = at::arange(2500, at::kLong).pow(2).remainder(7).remainder(3);
  evaluation.counts = labels({1, 1, 1});
  evaluation.give("train", at::eye(3), at::arange(3, at::kLong));
  evaluation.give("test", at::eye(3).index_select(0, of), of);
  test::load<Evaluator>("knn", "k = 2")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("accuracy") == 100);
}

TEST_CASE("knn counts only classes among the five likeliest that a neighbour has") {
  RecordedEvaluation evaluation;
  evaluation.counts = at::full({6}, 1, at::kLong);
  evaluation.give("train", at::eye(6), at::arange(6, at::kLong));
  // Rows of class c that lie nearest to class c + 1, then to c.
  evaluation.give("test", at::eye(6).roll(1, 1) + 0.5 * at::eye(6), at::arange(6, at::kLong));
  test::load<Evaluator>("knn", "k = 1")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("accuracy") == 0);
  CHECK(evaluation.metrics.at("top5") == 0);
  test::load<Evaluator>("knn", "k = 2")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("accuracy") == 0);
  CHECK(evaluation.metrics.at("top5") == 100);
}

// Pictures that name where they come from.
class NamedPictures final : public EvaluationServices {
 public:
  std::string png(std::string_view split, int64_t sample, int side) override {
    if (!images) return "";
    asked.insert(std::string(split) + " " + std::to_string(sample));
    return "png" + std::to_string(side);
  }
  at::Tensor positions(std::string_view split, std::string_view file) override {
    asked.insert(std::string(split) + " from " + std::string(file));
    return listed;
  }
  std::shared_ptr<Encoder> fresh_encoder(std::string_view) override { return nullptr; }
  bool images = true;
  at::Tensor listed;
  std::set<std::string> asked;
};

// Class 2 is the smallest and lies where class 0 does; the others are apart.
RecordedEvaluation tail_in_head() {
  RecordedEvaluation evaluation;
  evaluation.counts = labels({3, 2, 1});
  const std::vector<std::string> names = {"head", "middle", "tail"};
  evaluation.give("train", plane({{0, 1}, {2, 1}, {4, 1}, {90, 1}, {92, 1}, {30, 1}}),
                  labels({0, 0, 0, 1, 1, 2}), names);
  evaluation.give("test", plane({{1, 1}, {91, 1}, {29, 1}, {3, 1}}), labels({0, 1, 2, 2}), names);
  return evaluation;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST_CASE("knn draws the neighbours of the worst small classes") {
  RecordedEvaluation evaluation = tail_in_head();
  NamedPictures pictures;
  evaluation.services = &pictures;
  test::load<Evaluator>("knn", "k = 2")->evaluate(evaluation);
  const std::string& drawn = evaluation.pictures.at("neighbours");
  // Sample 3, which went wrong, with 1 and 2; sample 2, which did not, with 5 and 2.
  CHECK(occurrences(drawn, "<image") == 6);
  CHECK(occurrences(drawn, ">tail (class: 50.0 % right, training samples: 1)") == 1);
  CHECK(occurrences(drawn, ">tail, taken for head (class: 50.0 % right, training samples: 1)") ==
        1);
  CHECK(pictures.asked ==
        std::set<std::string>{"test 0", "test 2", "test 3", "train 1", "train 2", "train 5"});
  CHECK(occurrences(drawn, ">head<") == 3);
  CHECK(occurrences(drawn, "<rect") == 1);  // around the one right neighbour
}

TEST_CASE("knn without images or a host that shows them draws no neighbours") {
  RecordedEvaluation evaluation = tail_in_head();
  test::load<Evaluator>("knn", "k = 2")->evaluate(evaluation);
  CHECK(evaluation.pictures.count("neighbours") == 0);
  NamedPictures pictures;
  pictures.images = false;
  evaluation.services = &pictures;
  test::load<Evaluator>("knn", "k = 2")->evaluate(evaluation);
  CHECK(evaluation.pictures.count("neighbours") == 0);
  CHECK(evaluation.metrics.at("average") == Approx(100 * 2.5 / 3));
}

TEST_CASE("knn takes so many samples of each class, or those of a list, for its bank") {
  RecordedEvaluation evaluation = tail_in_head();
  test::load<Evaluator>("knn", "k = 1\nshots = 1")->evaluate(evaluation);
  CHECK_THAT(evaluation.definitions.at("accuracy"), Catch::Contains("nearest of 3 samples"));
  NamedPictures pictures;
  pictures.listed = labels({5, 4, 0});
  evaluation.services = &pictures;
  test::load<Evaluator>("knn", "k = 1\nlist = \"/some/list\"")->evaluate(evaluation);
  CHECK_THAT(evaluation.definitions.at("accuracy"), Catch::Contains("nearest of 3 samples"));
  CHECK(pictures.asked.count("train from /some/list") == 1);
  // Rows 0 and 2 of this bank are samples 0 and 5.
  CHECK(pictures.asked.count("train 0") == 1);
  CHECK(pictures.asked.count("train 5") == 1);
  CHECK(pictures.asked.count("train 2") == 0);
}

TEST_CASE("knn refuses what it cannot judge") {
  RecordedEvaluation evaluation = tail_in_head();
  CHECK_THROWS_WITH(test::load<Evaluator>("knn", "k = 7")->evaluate(evaluation),
                    Catch::Contains("k = 7, but the bank has 6"));
  evaluation.counts = labels({3, 2});
  CHECK_THROWS_WITH(test::load<Evaluator>("knn", "k = 1")->evaluate(evaluation),
                    Catch::Contains("label 2"));
  EvalFacts facts;
  facts.splits = {"test"};
  test::CollectedComplaints complaints;
  test::load<Evaluator>("knn")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains("labels") && Catch::Contains("no split 'train'"));
  facts = {};
  facts.class_targets = true;
  facts.splits = {"train", "test", "train:full"};
  complaints.text.clear();
  test::load<Evaluator>("knn", "bank = \"train:full\"")->check(facts, complaints);
  CHECK(complaints.text.empty());
  for (const char* bad :
       {"k = 0", "temperature = 0", "vote = \"loud\"", "level = \"input\"", "shots = -1"})
    CHECK_THROWS(test::load<Evaluator>("knn", bad));
}

}  // namespace
