#include "support/recorded_evaluation.hpp"
#include "support/vectors.hpp"

#include "gh/class_groups.hpp"
#include "gh/classification.hpp"
#include "gh/feature_choice.hpp"
#include "gh/number_text.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace {

using namespace gh;

at::Tensor counts_of(std::vector<int64_t> values) { return at::tensor(values, at::kLong); }

TEST_CASE("terciles put the rest into many and take equal classes in order") {
  const ClassGroups g = class_groups("terciles", counts_of({9, 5, 5, 5, 1}));
  REQUIRE(g.groups.size() == 3);
  CHECK(g.groups[0].name == "many");
  CHECK(g.groups[0].classes == std::vector<int64_t>{0, 2, 3});
  CHECK(g.groups[1].classes == std::vector<int64_t>{1});
  CHECK(g.groups[2].classes == std::vector<int64_t>{4});
  CHECK(g.definition.find("many 3, medium 1, few 1") != g.definition.npos);
}

TEST_CASE("CIFAR-100-LT's terciles are the paper's 34, 33 and 33 classes") {
  std::vector<int64_t> counts;
  for (int c = 0; c < 100; ++c)
    counts.push_back(static_cast<int64_t>(500 * std::pow(0.01, c / 99.0)));
  const ClassGroups g = class_groups("terciles", counts_of(counts));
  CHECK(g.groups[0].classes.back() == 33);
  CHECK(g.groups[1].classes.front() == 34);
  CHECK(g.groups[2].classes.front() == 67);
}

TEST_CASE("shots: the thresholds themselves are medium, and a group may be empty") {
  const ClassGroups g = class_groups("shots(100,20)", counts_of({101, 100, 20}));
  CHECK(g.groups[0].classes == std::vector<int64_t>{0});
  CHECK(g.groups[1].classes == std::vector<int64_t>{1, 2});
  CHECK(g.groups[2].classes.empty());
  const std::vector<double> accuracy = {80, 60, 40};
  const GroupAverages a = average_groups(g, accuracy);
  CHECK(std::isnan(a.means[2]));
  CHECK(a.average == Approx(60));
  CHECK(a.deviation == Approx(std::sqrt(2 * 15 * 15)));  // of 80 and 50
}

TEST_CASE("deciles are ten parts, the largest classes first") {
  std::vector<int64_t> counts(25);
  std::iota(counts.begin(), counts.end(), 1);
  const ClassGroups g = class_groups("deciles", counts_of(counts));
  REQUIRE(g.groups.size() == 10);
  CHECK(g.groups[0].name == "d1");
  CHECK(g.groups[0].classes == std::vector<int64_t>{22, 23, 24});
  std::size_t all = 0;
  for (const ClassGroup& group : g.groups) all += group.classes.size();
  CHECK(all == 25);
}

TEST_CASE("lists name classes by label and range") {
  const ClassGroups g = class_groups("lists(0-1; 2,4; 3)", counts_of({1, 1, 1, 1, 1}));
  CHECK(g.groups[1].classes == std::vector<int64_t>{2, 4});
  CHECK(class_groups("lists(0; 1)", counts_of({1, 1})).groups[1].name == "g2");
}

TEST_CASE("a rule that cannot be read says what was expected") {
  const auto counts = counts_of({1, 2});
  CHECK_THROWS_WITH(class_groups("thirds", counts), Catch::Contains("terciles"));
  CHECK_THROWS_WITH(class_groups("shots(20)", counts), Catch::Contains("two numbers"));
  CHECK_THROWS_WITH(class_groups("shots(20,100)", counts), Catch::Contains("overlap"));
  CHECK_THROWS_WITH(class_groups("lists(0-1; 1)", counts), Catch::Contains("twice"));
  CHECK_THROWS_WITH(class_groups("lists(0-2)", counts), Catch::Contains("no class 2"));
  CHECK_THROWS_WITH(class_groups("lists(0-x)", counts), Catch::Contains("'x'"));
}

// ---- the authors' numbers ----

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor row = tensor.to(at::kDouble).contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

TEST_CASE("parity: eval_groups") {
  const auto file = test::find_vector("eval_groups");
  if (!file) return;
  for (const auto& [prefix, rule] :
       {std::pair<std::string, std::string>{"thirds", "terciles"}, {"thr", "shots(100,20)"}}) {
    INFO(prefix);
    test::RecordedEvaluation evaluation;
    evaluation.counts = file->at(prefix + "_counts");
    const at::Tensor predicted = file->at(prefix + "_pred");
    report_classification(evaluation, {.split = "test", .groups = rule, .leave_out = false},
                          {.ranked = predicted.unsqueeze(1),
                           .targets = file->at(prefix + "_label"),
                           .class_names = {}},
                          "the reference's predictions");
    const auto means = numbers(file->at(prefix + "_group_mean"));
    CHECK(evaluation.metrics.at("many") == Approx(means[0]).margin(1e-9));
    CHECK(evaluation.metrics.at("medium") == Approx(means[1]).margin(1e-9));
    CHECK(evaluation.metrics.at("few") == Approx(means[2]).margin(1e-9));
    CHECK(evaluation.metrics.at("average") ==
          Approx(numbers(file->at(prefix + "_avg"))[0]).margin(1e-9));
    CHECK(evaluation.metrics.at("deviation") ==
          Approx(numbers(file->at(prefix + "_std_ddof1"))[0]).margin(1e-9));
    // The table of classes has the accuracies, by label.
    const auto expected = numbers(file->at(prefix + "_per_class"));
    for (const auto& row : evaluation.tables.at("classes").rows)
      CHECK(std::stod(row[5]) == Approx(expected.at(std::stoul(row[0]))).margin(0.00501));
  }
}

// ---- what is reported ----

// Three classes of 8, 4 and 2 training samples; two test samples each.
test::RecordedEvaluation three_classes() {
  test::RecordedEvaluation evaluation;
  evaluation.counts = counts_of({8, 4, 2});
  return evaluation;
}

TEST_CASE("a classification is told by group, class and confusion") {
  auto evaluation = three_classes();
  const Classified outcome{.ranked = at::tensor({0, 0, 1, 0, 2, 1}, at::kLong).unsqueeze(1),
                           .targets = at::tensor({0, 0, 1, 1, 2, 2}, at::kLong),
                           .class_names = {"dog", "cat", "owl"}};
  report_classification(evaluation, {"test", "terciles", false}, outcome, "by hand");
  CHECK(evaluation.metrics.at("accuracy") == Approx(100.0 * 4 / 6));
  CHECK(evaluation.metrics.count("top5") == 0);
  CHECK(evaluation.tables.at("groups").columns ==
        std::vector<std::string>{"many", "medium", "few", "std", "avg"});
  CHECK(evaluation.tables.at("groups").rows[0] ==
        std::vector<std::string>{"100.00", "50.00", "50.00", "28.87", "66.67"});
  CHECK(evaluation.tables.at("groups").caption.find("(n − 1)") != std::string::npos);
  const auto& confusion = evaluation.tables.at("confusion").rows;
  CHECK(confusion[1] == std::vector<std::string>{"medium", "50.00", "0.00", "0.00"});
  CHECK(confusion[2] == std::vector<std::string>{"few", "0.00", "50.00", "0.00"});
  const auto& owl = evaluation.tables.at("classes").rows[2];
  CHECK(owl == std::vector<std::string>{"2", "owl", "2", "few", "2", "50.00", "cat (1)"});
  CHECK(evaluation.pictures.at("classes").find("<rect") != std::string::npos);
  CHECK(evaluation.pictures.at("confusion").find("<rect") != std::string::npos);
}

TEST_CASE("top5 counts the class anywhere among the first five") {
  test::RecordedEvaluation evaluation;
  evaluation.counts = counts_of({1, 1, 1, 1, 1, 1});
  const at::Tensor scores = at::tensor({0.5, 0.4, 0.3, 0.2, 0.1, 0.0}, at::kDouble);
  const at::Tensor ranked = ranked_classes(scores.repeat({6, 1}));
  CHECK(ranked.size(1) == 5);
  report_classification(
      evaluation, {"test", "terciles", false},
      {.ranked = ranked, .targets = at::tensor({0, 1, 2, 3, 4, 5}, at::kLong), .class_names = {}},
      "by hand");
  CHECK(evaluation.metrics.at("top5") == Approx(100.0 * 5 / 6));
}

TEST_CASE("of equal scores the lower class comes first") {
  const at::Tensor ranked = ranked_classes(at::tensor({1.0, 2.0, 2.0}, at::kDouble).unsqueeze(0));
  CHECK(ranked.equal(at::tensor({1, 2, 0}, at::kLong).unsqueeze(0)));
}

TEST_CASE("a class that the split lacks is an error, or left out") {
  auto evaluation = three_classes();
  const Classified outcome{.ranked = at::tensor({0, 1}, at::kLong).unsqueeze(1),
                           .targets = at::tensor({0, 1}, at::kLong),
                           .class_names = {"dog", "cat", "owl"}};
  CHECK_THROWS_WITH(
      report_classification(evaluation, {"test", "terciles", false}, outcome, "by hand"),
      Catch::Contains("owl") && Catch::Contains("leave-out"));
  report_classification(evaluation, {"test", "terciles", true}, outcome, "by hand");
  CHECK(evaluation.tables.at("groups").rows[0][2] == "—");
  CHECK(std::isnan(evaluation.metrics.at("few")));
  CHECK(evaluation.metrics.at("average") == Approx(100));
}

TEST_CASE("labels outside of the training classes are named") {
  auto evaluation = three_classes();
  CHECK_THROWS_WITH(report_classification(evaluation, {"test", "terciles", false},
                                          {.ranked = at::tensor({0}, at::kLong).unsqueeze(1),
                                           .targets = at::tensor({3}, at::kLong),
                                           .class_names = {}},
                                          "by hand"),
                    Catch::Contains("label 3"));
}

TEST_CASE("shots are drawn class by class, the same for one seed") {
  test::RecordedEvaluation evaluation;
  std::vector<int64_t> labels;
  for (int64_t c = 0; c < 3; ++c) labels.insert(labels.end(), c == 2 ? 2 : 10, c);
  const at::Tensor targets = counts_of(labels);
  evaluation.give("train:full", {}, targets);
  const at::Tensor chosen = training_samples(evaluation, "train:full", 4, "");
  CHECK(chosen.size(0) == 4 + 4 + 2);
  CHECK(targets.index_select(0, chosen).eq(0).sum().item<int64_t>() == 4);
  CHECK(chosen.equal(training_samples(evaluation, "train:full", 4, "")));
  CHECK_FALSE(training_samples(evaluation, "train:full", 0, "").defined());
  evaluation.run.seed = 1;
  CHECK_FALSE(chosen.equal(training_samples(evaluation, "train:full", 4, "")));
}

TEST_CASE("a number's text is printf's, and a dash where there is none") {
  CHECK(number_text("%.1f", 12.34) == "12.3");
  CHECK(number_text("%.4g", -1e-7) == "-1e-07");
  CHECK(number_text("%.1f", std::stod("1e300")).size() == 31);
  CHECK(number_text("%.1f", std::numeric_limits<double>::quiet_NaN()) == "—");
}

TEST_CASE("samples of a group are those of its classes, in order") {
  const at::Tensor targets = counts_of({2, 0, 1, 2, -1, 0});
  CHECK(samples_of({"tail", {2, 0}}, targets).equal(counts_of({0, 1, 3, 5})));
  CHECK(samples_of({"none", {}}, targets).numel() == 0);
}

}  // namespace
