#include "report/study_table.hpp"
#include "text/json.hpp"
#include "unit/report/study_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace gh::host;
using gh::test::count;
using gh::test::StudyFixture;

namespace {

StudyFixture& three_seeds(StudyFixture& f) {
  f.study.metrics = {"few", "avg"};
  f.add_arm("base", {"40", "41", "42"});
  f.add_arm("GH", {"43", "43", "45"});
  return f;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

bool has_line(const std::string& text, const std::string& part) {
  const std::vector<std::string> lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(),
                     [&](auto& line) { return line.find(part) != line.npos; });
}

}  // namespace

TEST_CASE("a study's table has mean ± deviation, differences, and what they mean") {
  StudyFixture f;
  const std::string text = study_table(three_seeds(f).study, TableFormat::markdown);
  CAPTURE(text);
  // 40, 41, 42 and 43, 43, 45: deviations 1 and 2/√3. Differences 3, 2, 3; of three values the
  // least is drawn three times in 1 of 27, so that the interval reaches it.
  CHECK(text.starts_with(
      "| knn  |          Few |          Avg | Seeds |\n"
      "|------|-------------:|-------------:|------:|\n"
      "| base | 41.00 ± 1.00 | 50.04 ± 0.00 |     3 |\n"
      "| GH   | 43.67 ± 1.15 | 50.04 ± 0.00 |     3 |\n\n"
      "| Difference | to   | Metric |  Mean |  95 % interval |    p | p, Holm | Pairs |\n"
      "|------------|------|--------|------:|---------------:|-----:|--------:|------:|\n"
      "| GH         | base | Few    | +2.67 | [+2.00, +3.00] | 0.25 |    0.25 |     3 |\n"
      "| GH         | base | Avg    |  0.00 |   [0.00, 0.00] |    1 |       1 |     3 |\n\n"));
  CHECK(has_line(text, "- knn: nearest neighbours, split test, epoch 10"));
  CHECK(has_line(text, "- knn: Mean of a group; std: of groups"));
  CHECK(has_line(text, "10000 resamples"));
  CHECK(has_line(text, "with 3 seeds no p is below 2/2^3 = 0.25; below 0.05 takes 6 seeds"));
  CHECK(count(text, "**") == 0);
}

TEST_CASE("a real difference is bold, for better or for worse, and no other") {
  StudyFixture f;
  f.study.metrics = {"few"};
  f.add_arm("base", std::vector<std::string>(7, "40"));
  f.add_arm("up", {"41", "41.5", "40.5", "41", "42", "41", "40.1"});
  f.add_arm("worse", {"39", "39", "39.5", "38", "39", "39", "39.9"});
  f.add_arm("either", {"41", "39", "41", "39", "41", "39", "41"});
  std::string text = study_table(f.study, TableFormat::markdown);
  CHECK(has_line(text, "| up     | **41.01 ± 0.62** |"));
  CHECK(has_line(text, "| worse  | **39.06 ± 0.58** |"));
  CHECK(has_line(text, "| either |     40.14 ± 1.07 |"));
  CHECK(has_line(text, "- Bold: p after Holm's correction below 0.05"));
  CHECK(has_line(study_table(f.study, TableFormat::latex), "$\\mathbf{41.01 \\pm 0.62}$"));
  // Seven seeds are not enough for four arms: 4 · 2/2⁷ = 0.0625.
  f.add_arm("another", std::vector<std::string>(7, "41"));
  text = study_table(f.study, TableFormat::markdown);
  CHECK(count(text, "**") == 0);
  CHECK(has_line(text, "no p is below 2/2^7 = 0.0156, times 4 arms; below 0.05 takes 8 seeds"));
}

TEST_CASE("what is missing is —, what failed is named with why, what stands out is marked") {
  StudyFixture f;
  f.study.metrics = {"few", "nmi"};
  f.add_arm("base", {"40", "null"});
  f.add("GH", 0, "43").unintended = {"train.epochs", "seed_of|data"};
  RunOfStudy& failed = f.add_absent("GH", 1, ArmState::failed);
  failed.failure = "no memory\nsee train.log";
  f.add_absent("later", 0, ArmState::fresh).scaled = "  epochs: 500 → 20\n  width: 64 → 16\n";
  f.add_absent("more", 0, ArmState::fresh).scaled =
      "  epochs: 500 → 20\n  ramp: 10 → 1\n  width: 64 → 16\n";
  f.add_absent("later", 1, ArmState::running);
  f.study.problems = {"the disk is full"};
  const std::string text = study_table(f.study, TableFormat::markdown);
  CAPTURE(text);
  CHECK(has_line(text, "| base  | 40.00 (n = 1) |      2 |"));
  CHECK(has_line(text, "| GH †  |         43.00 | 1 of 2 |"));
  CHECK(has_line(text, "| later |             — | 0 of 2 |"));
  CHECK(has_line(text, "| base  |   — |      2 |"));  // nmi
  CHECK(has_line(
      text, "| GH †       | base | knn Few | +3.00 |             — |   1 |       1 |     1 |"));
  CHECK(has_line(text, "- 3 of 7 runs are done; 1 running, 1 failed, 2 new"));
  CHECK(has_line(text, "- No run that is done reports nmi"));
  CHECK(has_line(text, "- † GH differs from its baseline also in train.epochs, seed_of\\|data"));
  CHECK(has_line(text, "- GH failed: no memory see train.log (seed 1)"));
  CHECK(has_line(text, "- Scaled: epochs: 500 → 20; width: 64 → 16 (later, more)"));
  CHECK(has_line(text, "- Scaled: ramp: 10 → 1 (more)"));
  CHECK(has_line(text, "- the disk is full"));
  CHECK(has_line(study_table(f.study, TableFormat::latex), "later & -- & 0 of 2 \\\\"));
}

TEST_CASE("a study without results has its arms, one without runs a sentence") {
  StudyFixture f;
  f.add_absent("base", 0, ArmState::fresh);
  CHECK(has_line(study_table(f.study, TableFormat::markdown), "| base | 0 of 1 |"));
  f.study.runs.clear();
  CHECK(study_table(f.study, TableFormat::markdown) == "- The study has no runs\n");
  CHECK(study_table(f.study, TableFormat::latex) == "% The study has no runs\n");
}

TEST_CASE("a done run that cannot be read is named") {
  StudyFixture f;
  f.add("base", 0, "40");
  f.add_absent("GH", 0, ArmState::done);
  CHECK(has_line(study_table(f.study, TableFormat::markdown),
                 "- GH: /nowhere/of/a/study: no such run directory (seed 0)"));
}

TEST_CASE("LaTeX is whole: rows of one length, everything escaped, notes as comments") {
  StudyFixture f;
  three_seeds(f);
  for (RunOfStudy& run : f.study.runs)
    if (run.label == "GH") run.label = "G_H & 50% \\input{x}\x1b[31m\n$";
  f.study.runs.back().failure = "";
  const std::string text = study_table(f.study, TableFormat::latex);
  CAPTURE(text);
  CHECK(has_line(text,
                 "G\\_H \\& 50\\% \\textbackslash{}input\\{x\\} [31m \\$ & $43.67 \\pm 1.15$ & "));
  CHECK(has_line(text, "& Few & $+2.67$ & $[+2.00, +3.00]$ & 0.25 & 0.25 & 3 \\\\"));
  CHECK(text.find('\x1b') == text.npos);
  std::size_t cells = 0;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("%")) continue;
    if (line.starts_with("\\begin{tabular}")) cells = 0;
    if (!line.ends_with("\\\\")) continue;
    const std::size_t here = count(line, " & ");
    CHECK((cells == 0 || cells == here));
    cells = here;
  }
  CHECK(count(text, "\\begin{tabular}") == 2);
  CHECK(count(text, "\\bottomrule\n\\end{tabular}\n") == 2);
}

TEST_CASE("Markdown obeys no label") {
  StudyFixture f;
  f.add("a | b\n| c \x1b[2J", 0, "40");
  f.add("<b>", 0, "40");
  const std::string text = study_table(f.study, TableFormat::markdown);
  CHECK(has_line(text, "| a \\| b \\| c  [2J |"));
  CHECK(has_line(text, "| \\<b>             |"));
  CHECK(text.find('\x1b') == text.npos);
}

TEST_CASE("the paper's layout has blocks of rows and a column an arm") {
  StudyFixture f;
  f.study.metrics = {"few", "avg"};
  f.study.layout = "paper";
  for (const std::string ratio : {"100", "10"})
    for (const std::string arm : {"SimCLR", "+GH"}) {
      const std::string label = arm + ", R " + ratio;
      f.add_arm(label, {ratio == "10" ? "45" : "40"}, "SimCLR, R " + ratio);
      f.set_axes(label, {{"data.longtail.ratio", ratio}}, arm);
    }
  f.add_arm("sampling", {"7"}, "");
  const std::string text = study_table(f.study, TableFormat::markdown);
  CAPTURE(text);
  CHECK(
      text.starts_with("| knn         |       | SimCLR |   +GH | sampling |\n"
                       "|-------------|-------|-------:|------:|---------:|\n"
                       "| ratio = 100 | Few   |  40.00 | 40.00 |        — |\n"
                       "|             | Avg   |  50.04 | 50.04 |        — |\n"
                       "|             | Seeds |      1 |     1 |        — |\n"
                       "| ratio = 10  | Few   |  45.00 | 45.00 |        — |\n"));
  CHECK(has_line(text, "| —           | Few   |      — |     — |     7.00 |"));
  CHECK(count(study_table(f.study, TableFormat::latex), "\\midrule\n") == 4);  // with differences
  // Other axes can be blocks, too: those of data are then part of the arm.
  f.study.blocks = {"train.epochs"};
  CHECK(has_line(study_table(f.study, TableFormat::markdown), "+GH, ratio = 10 | sampling |"));
}

TEST_CASE("CSV and JSON have every seed's number as it is") {
  StudyFixture f;
  f.study.metrics = {"few"};
  f.add_arm("base", {"40.123456789", "41"});
  f.add_arm("a \"b\", c", {"43", "null"});
  f.set_axes("a \"b\", c", {{"harmonize.weight", "0.5"}}, "a");
  f.add_absent("a \"b\", c", 2, ArmState::failed).failure = "why";
  CHECK(study_table(f.study, TableFormat::csv) ==
        "label,arm,harmonize.weight,seed,state,baseline,evaluator,metric,value\n"
        "base,base,,0,done,base,knn,few,40.123456789\n"
        "base,base,,1,done,base,knn,few,41\n"
        "\"a \"\"b\"\", c\",a,0.5,0,done,base,knn,few,43\n"
        "\"a \"\"b\"\", c\",a,0.5,1,done,base,knn,few,\n"
        "\"a \"\"b\"\", c\",a,0.5,2,failed,base,knn,few,\n");
  const auto json = parse_json(study_table(f.study, TableFormat::json));
  CHECK(json["study"] == "a study");
  const auto& arm = json["arms"][1];
  CHECK(arm["label"] == "a \"b\", c");
  CHECK(arm["axes"]["harmonize.weight"] == "0.5");
  CHECK(arm["runs"][2]["failure"] == "why");
  CHECK(arm["results"][0]["seeds"] == parse_json(R"({"0": 43.0, "1": null, "2": null})"));
  CHECK(arm["results"][0]["difference"]["pairs"] == 1);
  CHECK(arm["results"][0]["difference"]["mean"].get<double>() == Approx(43 - 40.123456789));
  CHECK(arm["results"][0]["difference"]["p"] == 1.0);
  CHECK(json["arms"][0]["results"][0]["mean"].get<double>() == Approx(40.5617283945));
}

TEST_CASE("the same study has the same table, byte for byte") {
  StudyFixture f;
  three_seeds(f);
  for (const TableFormat format : {TableFormat::markdown, TableFormat::json})
    CHECK(study_table(f.study, format) == study_table(f.study, format));
}
