#include "report/run_diff.hpp"

#include "report/differences.hpp"
#include "unit/report/run_fixture.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <array>

using namespace gh::host;
using gh::test::count;
using gh::test::RunFixture;

namespace {

std::string diff(const RunFixture& a, const RunFixture& b) {
  const std::array runs = {load_run(a.path()), load_run(b.path())};
  return diff_text(runs);
}

}  // namespace

TEST_CASE("equal runs have no difference") {
  RunFixture a, b;
  a.write_toy("toy");
  b.write_toy("toy");
  const std::string text = diff(a, b);
  CHECK(count(text, "No difference in recipe, data, plugins and environment.\n") == 1);
  CHECK(count(text, "    share  0.2500  0.2500  0.0000\n") == 1);
  CHECK(count(text, "!") == 0);
}

TEST_CASE("every resolved difference stands under its heading") {
  RunFixture a, b;
  for (const RunFixture* run : {&a, &b}) run->write_toy("toy");
  a.write("recipe.toml",
          "name = \"a\"\nseed = 1\nviews.size = 32\ndata.id = \"x\"\nloader.threads = 1\n"
          "[[eval]]\nid = \"knn\"\nk = 5\n[[eval]]\nid = \"tsne\"\np = 30\n");
  b.write("recipe.toml",
          "name = \"b\"\nseed = 1\nviews.size = 64\ndata.id = \"x\"\nloader.threads = 2\n"
          "method.id = \"byol\"\n[[eval]]\nid = \"tsne\"\np = 30\n[[eval]]\nid = \"knn\"\nk = 6\n");
  b.write("environment.json", R"({"ghhost": "1.0.1", "threads": 2, "command": ["other"],
    "plugins": [{"name": "simclr", "version": "1.3", "sha256": "def"}]})");
  b.write("data.json",
          R"({"samples": 808, "fingerprint": "f", "class_counts": [500, 199, 78, 31]})");
  const std::array runs = {load_run(a.path()), load_run(b.path())};
  std::map<std::string, std::vector<DifferenceRow>> found;
  for (const DifferenceGroup& group : run_differences(runs)) found[group.id] = group.rows;
  const auto keys = [&](const std::string& id) {
    std::vector<std::string> out;
    for (const DifferenceRow& row : found[id]) out.push_back(row.key);
    return out;
  };
  using Keys = std::vector<std::string>;
  CHECK(keys("recipe") == Keys{"method.id"});
  CHECK(keys("augmentation") == Keys{"views.size"});
  // Evaluators are told by their kind: another order is no difference.
  CHECK(keys("evaluation") == Keys{"eval.knn.k"});
  CHECK(keys("data") ==
        Keys{"training set: fingerprint", "training set: samples", "training set: class counts"});
  CHECK(keys("plugins") == Keys{"simclr"});
  CHECK(keys("environment") == Keys{"ghhost"});
  CHECK(keys("neutral") == Keys{"loader.threads", "name"});
  CHECK(found["data"][2].values == Keys{"class 1: 198", "class 1: 199"});
  const std::string text = diff_text(runs);
  CHECK(count(text, "Augmentation\n  views.size  32  64\n") == 1);
  CHECK(count(text, "Recipe\n  method.id  (absent)  byol\n") == 1);
  CHECK(count(text, "! not the same training data") == 1);
}

TEST_CASE("results whose protocol, data or moment differ are marked") {
  RunFixture a, b;
  for (const RunFixture* run : {&a, &b}) run->write("status.json", "{}");
  a.write_classified(0, {});
  b.write_classified(0, {.epoch = 12,
                         .values = {"61", "50", "null", "10.06", "50.04"},
                         .params = R"({"split": "test", "k": 200})",
                         .splits = R"({"test": "sha256:2"})"});
  b.write_classified(1, {.evaluator = "linear", .slot = "eval.1"});
  const std::array runs = {load_run(a.path()), load_run(b.path())};
  const std::string text = diff_text(runs);
  CHECK(count(text, "    ! not the same protocol: k is 20 and 200\n") == 1);
  CHECK(count(text, "    ! not the same data: test is sha256:1 and sha256:2\n") == 1);
  CHECK(count(text, "    ! not the same moment: epoch 10 and 12\n") == 1);
  CHECK(count(text, "  linear, epoch 10\n    ! only in B\n") == 1);
  const nlohmann::ordered_json json = diff_json(runs);
  CHECK(json["results"][0]["warnings"].size() == 3);
  CHECK(json["results"][0]["metrics"][0]["difference"] == 0.875);
  CHECK(json["results"][0]["metrics"][2]["b"].is_null());
  CHECK(json["results"][0]["metrics"][2]["difference"].is_null());
  CHECK(json["results"][1]["metrics"][0]["a"].is_null());
}

TEST_CASE("evaluators with equal parameters meet, whatever their order") {
  RunFixture a, b;
  for (const RunFixture* run : {&a, &b}) run->write("status.json", "{}");
  const RunFixture::Classified few{
      .slot = "eval.0", .values = {"1", "1", "1", "0", "1"}, .params = R"({"k": 5})"};
  const RunFixture::Classified many{
      .slot = "eval.1", .values = {"2", "2", "2", "0", "2"}, .params = R"({"k": 50})"};
  a.write_classified(0, few);
  a.write_classified(1, many);
  b.write_classified(0, many);
  b.write_classified(1, few);
  const std::string text = diff(a, b);
  CHECK(count(text, "not the same") == 0);
  CHECK(count(text, "  knn (k = 5), epoch 10\n") == 1);
  CHECK(count(text, "    average    1  1      0\n") == 1);
}
