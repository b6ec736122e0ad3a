#include "report/paper_table.hpp"

#include "gh/class_groups.hpp"
#include "gh/error.hpp"
#include "unit/report/run_fixture.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <sstream>

using namespace gh::host;
using gh::test::count;
using gh::test::RunFixture;

namespace {

// "Combating Representation Learning Disparity with Geometric Harmonization" (Zhou et al., NeurIPS
// 2023), the table of linear probing: SimCLR, Focal, SDCLR, DnC and BCL, each alone and with GH.
using Arms = std::array<double, 10>;
struct Block {
  const char* data;
  std::array<int64_t, 3> classes;  // many, medium, few
  Arms many, medium, few, deviation, average;
};
// clang-format off
constexpr std::array<Block, 5> kPaper = {{
    {"CIFAR-100-LT, R 100", {34, 33, 33},
     {54.97, 57.38, 54.24, 57.01, 57.32, 57.44, 55.41, 57.56, 59.15, 59.50},
     {49.39, 52.27, 49.58, 52.93, 50.70, 52.85, 51.30, 53.74, 54.82, 55.73},
     {47.67, 52.12, 49.21, 51.74, 50.45, 54.06, 50.76, 53.26, 55.30, 57.67},
     {3.82, 2.99, 2.80, 2.76, 3.90, 2.38, 2.54, 2.36, 2.37, 1.89},
     {50.72, 53.96, 51.04, 53.92, 52.87, 54.81, 52.52, 54.88, 56.45, 57.65}},
    {"CIFAR-100-LT, R 50", {34, 33, 33},
     {56.00, 58.88, 55.40, 57.97, 57.50, 58.47, 56.03, 59.04, 59.44, 60.82},
     {50.48, 53.00, 51.14, 53.55, 51.85, 53.88, 52.68, 55.05, 54.73, 57.58},
     {50.12, 54.27, 50.02, 53.58, 52.15, 53.58, 50.83, 54.81, 57.30, 58.55},
     {3.30, 3.09, 2.84, 2.54, 3.18, 2.74, 2.64, 2.38, 2.36, 1.66},
     {52.24, 55.42, 52.22, 55.06, 53.87, 55.34, 53.21, 56.33, 57.18, 59.00}},
    {"CIFAR-100-LT, R 10", {34, 33, 33},
     {57.85, 59.26, 58.18, 60.06, 58.47, 59.21, 59.82, 61.09, 60.41, 61.41},
     {55.06, 56.91, 55.82, 56.79, 54.79, 56.06, 56.67, 58.33, 57.15, 59.27},
     {54.03, 55.85, 54.64, 57.24, 52.97, 55.58, 56.21, 57.33, 59.76, 60.30},
     {1.98, 1.75, 1.80, 1.77, 2.80, 1.97, 1.96, 1.95, 1.73, 1.07},
     {55.67, 57.36, 56.23, 58.05, 55.44, 56.97, 57.59, 58.94, 59.12, 60.34}},
    {"ImageNet-LT", {385, 479, 136},
     {41.69, 41.53, 42.04, 42.55, 40.87, 41.92, 41.70, 42.19, 42.92, 43.22},
     {33.96, 36.35, 35.02, 36.75, 33.71, 36.53, 34.68, 36.63, 35.89, 38.16},
     {31.82, 35.84, 33.32, 36.28, 32.07, 36.04, 33.58, 35.86, 33.93, 36.96},
     {5.19, 3.15, 4.62, 3.49, 4.68, 3.26, 4.41, 3.45, 4.73, 3.32},
     {36.65, 38.28, 37.49, 38.92, 36.25, 38.53, 37.23, 38.67, 38.33, 39.95}},
    {"Places-LT", {131, 163, 71},
     {31.98, 32.46, 31.69, 32.40, 32.17, 32.78, 32.07, 32.51, 32.69, 33.22},
     {34.05, 35.03, 34.33, 35.14, 34.71, 35.60, 34.51, 35.55, 35.37, 36.00},
     {35.63, 36.14, 35.73, 36.49, 35.69, 36.18, 35.84, 35.91, 37.18, 37.62},
     {1.83, 1.89, 2.05, 2.08, 1.82, 1.82, 1.91, 1.87, 2.26, 2.23},
     {33.61, 34.33, 33.65, 34.42, 33.99, 34.70, 33.90, 34.52, 34.76, 35.32}},
}};
// clang-format on

// A row as an evaluator and the loader make it, from classes that are all as good as their group.
GroupRow row_of(const Block& block, std::size_t arm) {
  gh::ClassGroups groups;
  std::vector<double> per_class;
  const std::array<double, 3> means = {block.many[arm], block.medium[arm], block.few[arm]};
  for (std::size_t g = 0; g < means.size(); ++g) {
    gh::ClassGroup& group = groups.groups.emplace_back();
    for (int64_t c = 0; c < block.classes[g]; ++c) {
      group.classes.push_back(static_cast<int64_t>(per_class.size()));
      per_class.push_back(means[g]);
    }
  }
  const gh::GroupAverages a = gh::average_groups(groups, per_class);
  GroupRow row;
  row.run = fmt::format("{} {}", block.data, arm);
  row.evaluator = "linear";
  row.columns = {"many", "medium", "few", "std", "avg"};
  row.values = {a.means[0], a.means[1], a.means[2], a.deviation, a.average};
  return row;
}

// The numbers of a LaTeX row.
std::vector<double> numbers_of(const std::string& table, const std::string& name) {
  std::string line = table.substr(table.find("\n" + name + " & ") + 1);
  line.resize(line.find(" \\\\"));
  std::vector<double> out;
  std::istringstream cells(line);
  for (std::string cell; std::getline(cells, cell, '&');)
    if (cell.find_first_of("0123456789") != cell.npos && cell.find(name) == cell.npos)
      out.push_back(std::stod(cell));
  return out;
}

}  // namespace

// The paper's own inputs are rounded to 0.01, that is, off by up to 0.005. A weighted mean moves by
// no more than its inputs do. Of a sample standard deviation of n values the gradient has length
// 1/√(n−1), so three inputs move it by at most 0.005 · √3 / √2 = 0.0062. What is printed is rounded
// once more, in the paper and here: 0.005 each. So equal columns may print a difference of one in
// the last digit, 0.01, and not of two.
TEST_CASE("Std and Avg of the paper's main table follow from its groups") {
  std::vector<GroupRow> rows;
  for (const Block& block : kPaper)
    for (std::size_t arm = 0; arm < 10; ++arm) rows.push_back(row_of(block, arm));
  const std::string table = paper_table(rows, TableStyle::latex);
  int columns = 0, same_std = 0, same_avg = 0;
  for (const Block& block : kPaper)
    for (std::size_t arm = 0; arm < 10; ++arm) {
      const std::string name = fmt::format("{} {}", block.data, arm);
      INFO(name);
      const std::vector<double> printed = numbers_of(table, name);
      REQUIRE(printed.size() == 5);
      CHECK(printed[0] == block.many[arm]);
      CHECK(printed[1] == block.medium[arm]);
      CHECK(printed[2] == block.few[arm]);
      CHECK(std::abs(printed[3] - block.deviation[arm]) < 0.0101);
      CHECK(std::abs(printed[4] - block.average[arm]) < 0.0101);
      ++columns;
      same_std += printed[3] == block.deviation[arm];
      same_avg += printed[4] == block.average[arm];
    }
  CHECK(columns == 50);
  // To the last digit in all but those where the rounding of the inputs shows.
  CHECK(same_std == 50);
  CHECK(same_avg == 43);
}

TEST_CASE("LaTeX rows are escaped, an empty group is --, definitions are comments") {
  GroupRow row;
  row.run = "a_b & 50%";
  row.evaluator = "knn";
  row.how = "k-NN,\nk = 20";
  row.definition = "means of groups";
  row.epoch = 7;
  row.columns = {"many", "medium", "few", "std", "avg"};
  row.values = {54.125, 49, std::nullopt, 3.625, 51};
  CHECK(paper_table(std::array{row}, TableStyle::latex) ==
        "% knn: k-NN, k = 20, epoch 7\n% means of groups\n"
        "\\begin{tabular}{llrrrrr}\n\\toprule\n"
        "Run & Evaluator & Many & Medium & Few & Std & Avg \\\\\n\\midrule\n"
        "a\\_b \\& 50\\% & knn & 54.12 & 49.00 & -- & 3.62 & 51.00 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n");
  CHECK(escape_latex("\\^~{}$#") ==
        "\\textbackslash{}\\textasciicircum{}\\textasciitilde{}\\{\\}\\$\\#");
  // A row that begins with these would be an argument of the line end before it.
  CHECK(escape_latex("[a] *") == "{}[a] *");
  CHECK(escape_latex("*a") == "{}*a");
}

TEST_CASE("Markdown has a row per run and evaluator, and a table for each set of columns") {
  RunFixture a;
  a.write_toy("toy");
  a.write_classified(3, {.values = {"60.125", "50", "null", "10.06", "50.04"}});
  a.write_classified(4, {.slot = "eval.1", .params = R"({"split": "test", "k": 5})"});
  const std::array runs = {load_run(a.path())};
  const std::string text = table_text(runs, TableStyle::markdown, Seeds::listed);
  CHECK(text ==
        "| Run | Evaluator    |  Many | Medium |   Few |   Std |   Avg |\n"
        "|-----|--------------|------:|-------:|------:|------:|------:|\n"
        "| toy | knn (k = 20) | 60.12 |  50.00 |     — | 10.06 | 50.04 |\n"
        "| toy | knn (k = 5)  | 60.12 |  50.00 | 40.00 | 10.06 | 50.04 |\n\n"
        "- knn (k = 20): nearest neighbours, split test, epoch 10\n"
        "- knn (k = 5): nearest neighbours, split test, epoch 10\n"
        "- Mean of a group; std: of groups\n");
  std::vector<GroupRow> rows = group_rows(runs[0], "toy");
  rows[1].columns = {"d1", "d2", "d3", "std", "avg"};
  CHECK(count(paper_table(rows, TableStyle::markdown), "| Run |") == 2);
  CHECK(count(paper_table({}, TableStyle::latex), "% no evaluator") == 1);
}

namespace {

void write_seed(const RunFixture& run, int seed, const std::string& few, const std::string& many) {
  run.write("status.json", "{}");
  run.write("recipe.toml", fmt::format("name = \"run {0}\"\nseed = {0}\nmethod.id = \"simclr\"\n"
                                       "[loader]\nthreads = {0}\n",
                                       seed));
  run.write_classified(0, {.values = {many, "50", few, "10.06", "50.04"}});
}

}  // namespace

TEST_CASE("runs that differ in their seed become mean and sample deviation") {
  RunFixture a, b, c, other;
  write_seed(a, 0, "40", "60");
  write_seed(b, 1, "null", "61");
  write_seed(c, 2, "43", "65");
  write_seed(other, 0, "1", "2");
  other.write("recipe.toml", "name = \"other\"\nseed = 0\nmethod.id = \"byol\"\n");
  const std::array runs = {load_run(a.path()), load_run(b.path()), load_run(other.path()),
                           load_run(c.path())};
  const std::string text = table_text(runs, TableStyle::latex, Seeds::averaged);
  // 60, 61, 65: mean 62, deviation √7; 40 and 43: mean 41.5, deviation 3/√2.
  CHECK(count(text, "run 0 & knn & $62.00 \\pm 2.65$ & $50.00 \\pm 0.00$ & $41.50 \\pm 2.12$ & ") ==
        1);
  CHECK(count(text, " & 3 \\\\\n") == 1);
  CHECK(count(text, "other & knn & 2.00 & 50.00 & 1.00 & 10.06 & 50.04 & 1 \\\\\n") == 1);
  CHECK(count(text, "Seeds \\\\") == 1);
  CHECK(count(text, "over the seeds") == 1);
  CHECK(count(table_text(runs, TableStyle::latex, Seeds::listed), "& knn &") == 4);
}

TEST_CASE("a mean over one seed twice, or of different moments, is refused") {
  RunFixture a, b;
  write_seed(a, 0, "40", "60");
  write_seed(b, 0, "41", "61");
  CHECK_THROWS_WITH(mean_group_rows(std::array{load_run(a.path()), load_run(b.path())}),
                    Catch::Contains("same seed") && Catch::Contains(b.path().string()));
  write_seed(b, 1, "41", "61");
  b.write_classified(0, {.epoch = 9});
  CHECK_THROWS_WITH(mean_group_rows(std::array{load_run(a.path()), load_run(b.path())}),
                    Catch::Contains("epoch 10") && Catch::Contains("epoch 9"));
}
