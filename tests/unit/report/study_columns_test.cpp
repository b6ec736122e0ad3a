#include "report/study_columns.hpp"
#include "report/study_results.hpp"
#include "unit/report/study_fixture.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace gh::host;
using gh::test::RunFixture;
using gh::test::StudyFixture;

namespace {

StudyResults results_of(const StudySummary& study) {
  return study_results(study, load_study_runs(study, ForCurves::no));
}

// "knn (k = 20).few" of each column.
std::vector<std::string> columns_of(StudyFixture& fixture, std::vector<std::string> metrics) {
  fixture.study.metrics = std::move(metrics);
  std::vector<std::string> out;
  for (const StudyColumn& column : results_of(fixture.study).columns)
    out.push_back(column.evaluator + "." + column.metric);
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("metrics of a study are columns: of one evaluator, by name, by group") {
  StudyFixture f;
  f.add("base", 0, "40");
  f.last().write_classified(1, {.slot = "eval.1", .params = R"({"split": "test", "k": 5})"});
  f.last().write_result(2, "end", 10, "0.25");  // circle: share
  const Names groups = {"knn (k = 20).many", "knn (k = 20).medium", "knn (k = 20).few",
                        "knn (k = 20).deviation", "knn (k = 20).average"};
  CHECK(columns_of(f, {"knn (k = 20)"}) == groups);
  CHECK(columns_of(f, {"few"}) == Names{"knn (k = 20).few", "knn (k = 5).few"});
  CHECK(columns_of(f, {"knn.std"}) == Names{"knn (k = 20).deviation", "knn (k = 5).deviation"});
  CHECK(columns_of(f, {"knn (k = 5).avg"}) == Names{"knn (k = 5).average"});
  CHECK(columns_of(f, {"circle"}) == Names{"circle.share"});
  // Those of one evaluator stand together, and none twice.
  CHECK(columns_of(f, {"few", "share", "many", "few"}) ==
        Names{"knn (k = 20).few", "knn (k = 20).many", "knn (k = 5).few", "knn (k = 5).many",
              "circle.share"});
  CHECK(columns_of(f, {"nmi"}) == Names{".nmi"});
  // Nothing named: what is said by group, without the circle.
  CHECK(columns_of(f, {}).size() == 10);
}

TEST_CASE("without groups of classes every metric is a column") {
  StudyFixture f;
  f.add("base", 0, "40");
  std::filesystem::remove_all(f.last() / "results");
  f.last().write_result(2, "end", 10, "0.25");
  CHECK(columns_of(f, {}) == Names{"circle.share"});
}

TEST_CASE("columns have all the digits that metrics have") {
  StudyFixture f;
  f.add_arm("base", {"40.12345678"});
  const StudyResults results = results_of(f.study);
  CHECK(*results.rows[0].cells[2].values[0] == 40.12345678);
  CHECK(results.columns[2].heading == "Few");
  CHECK(results.columns[3].heading == "Std");
  CHECK(*results.rows[0].cells[3].values[0] == 10.06);
}

TEST_CASE("what is not done, and moments before the last, are no results") {
  StudyFixture f;
  f.add_arm("base", {"40", "42"});
  f.last().write_classified(1,
                            {.moment = "epoch", .epoch = 4, .values = {"1", "1", "1", "1", "1"}});
  f.add("GH", 0, "99").state = ArmState::running;
  f.add("GH", 1, "99").state = ArmState::failed;
  const StudyResults results = results_of(f.study);
  CHECK(*results.rows[0].cells[2].sample.mean == Approx(41));
  CHECK(results.rows[1].cells[2].sample.n == 0);
  CHECK_FALSE(results.rows[1].cells[2].comparison->p);
}

TEST_CASE("differences are those of the same seed") {
  StudyFixture f;
  f.add_arm("base", {"10", "20", "30"});
  // In another order, one seed that the baseline has not, one whose value is missing.
  f.add("GH", 2, "33");
  f.add("GH", 7, "99");
  f.add("GH", 0, "11");
  f.add("GH", 1, "null");
  const StudyResults results = results_of(f.study);
  const Comparison& few = *results.rows[1].cells[2].comparison;
  CHECK(few.differences.n == 2);
  CHECK(*few.differences.mean == Approx(2));  // 3 and 1
  CHECK(few.interval->low == Approx(1));
  CHECK(few.interval->high == Approx(3));
  CHECK(*few.p == 0.5);
  CHECK_FALSE(results.rows[0].cells[2].comparison);
}

TEST_CASE("numbers of another definition, protocol or split are not compared, and it is said") {
  const auto refusal = [](const RunFixture::Classified& other) {
    StudyFixture f;
    f.add("base", 0, "40");
    f.add("GH", 0, "50");
    f.last().write_classified(0, other);
    const StudyResults results = results_of(f.study);
    const Comparison& comparison = *results.rows[1].cells[2].comparison;
    CHECK(comparison.p.has_value() == comparison.refused.empty());
    const std::string flags = results.flags.empty() ? "" : results.flags.back();
    CHECK((comparison.refused.empty() || flags.find(comparison.refused) != flags.npos));
    return comparison.refused;
  };
  CHECK(refusal({}) == "");
  CHECK(refusal({.params = R"({"split": "test", "k": 5})"}) == "its k is 5 and not 20");
  CHECK(refusal({.splits = R"({"test": "sha256:2"})"}) == "it was evaluated on another split test");
  // What was trained on may be the very thing that a study is about.
  CHECK(refusal({.splits = R"({"test": "sha256:1", "train": "sha256:3"})"}) == "");
  StudyFixture f;
  f.add("base", 0, "40");
  f.add("GH", 0, "50");
  std::string text = f.last().read("results/00-end-knn.json");
  text.replace(text.find("Mean of a group"), 4, "Best");
  f.last().write("results/00-end-knn.json", text);
  const StudyResults results = results_of(f.study);
  CHECK(results.rows[1].cells[2].comparison->refused == "it is defined otherwise");
  std::string said;
  for (const std::string& sentence : results.protocols[0].sentences) said += sentence + "\n";
  CHECK(said.find("more than one definition") != said.npos);
  CHECK(said.find("GH: Best of a group") != said.npos);
}

TEST_CASE("Holm's correction goes over the arms of a column") {
  StudyFixture f;
  const std::vector<std::string> base(6, "40"), more(6, "41");
  f.add_arm("base", base);
  f.add_arm("up", more);
  f.add_arm("down", std::vector<std::string>(6, "39.5"));
  f.add_arm("same", base);
  const StudyResults results = results_of(f.study);
  const auto adjusted = [&](std::size_t row) {
    return *results.rows[row].cells[2].comparison->adjusted;
  };
  CHECK(*results.rows[1].cells[2].comparison->p == 1.0 / 32);
  CHECK(adjusted(1) == Approx(3.0 / 32));
  CHECK(adjusted(2) == Approx(3.0 / 32));
  CHECK(adjusted(3) == 1);
}
