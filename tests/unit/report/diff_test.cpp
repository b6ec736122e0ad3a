#include "report/run_diff.hpp"

#include "report/differences.hpp"
#include "report/report.hpp"
#include "run/checkpoint_store.hpp"
#include "unit/report/run_fixture.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <limits>

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

namespace {

// A run of `losses`, with a checkpoint of one tensor at step 10.
void write_trained(const RunFixture& run, std::vector<double> losses, at::Tensor weight) {
  run.write_toy("toy");
  std::string lines;
  for (std::size_t i = 0; i < losses.size(); ++i)
    lines +=
        nlohmann::ordered_json{
            {"stage", "train"}, {"epoch", i + 1}, {"step", 5 * (i + 1)}, {"loss", losses[i]}}
            .dump() +
        "\n";
  run.write("metrics.jsonl", lines);
  TensorFile content;
  content.tensors.emplace_back("method.weight", std::move(weight));
  content.tensors.emplace_back("run.step", at::full({}, 10, at::kLong));
  CheckpointStore(run.path(), {}).save(10, content, std::nullopt);
}

}  // namespace

TEST_CASE("runs are called identical only when their bytes are") {
  RunFixture a, b;
  const at::Tensor weight = at::tensor({1.0F, 2.0F});
  for (const RunFixture* run : {&a, &b}) write_trained(*run, {0.5, 0.25}, weight);
  const std::string same = diff(a, b);
  CHECK(count(same, "Identical: ") == 1);
  CHECK(count(same, "  metrics.jsonl: the same bytes, 2 epochs\n") == 1);
  CHECK(count(same, "  checkpoint of step 10: the same bytes, 2 tensors\n") == 1);

  SECTION("other metrics") {
    write_trained(b, {0.5, 0.3125}, weight);
    const std::string text = diff(a, b);
    CHECK(count(text, "Identical") == 0);
    CHECK(count(text,
                "  metrics.jsonl: differs from epoch 2 on (stage train, step 10)\n"
                "    loss  0.25  0.3125\n") == 1);
    CHECK(count(text, "step 10: the same bytes") == 1);
    const std::array runs = {load_run(a.path()), load_run(b.path())};
    const auto json = diff_json(runs)["training"];
    CHECK(json["identical"] == false);
    CHECK(json["metrics"]["first"]["epoch"] == 2);
    CHECK(json["metrics"]["first"]["metrics"][0]["b"] == 0.3125);
  }
  SECTION("one goes on for longer") {
    write_trained(b, {0.5, 0.25, 0.125}, weight);
    CHECK(count(diff(a, b), "equal as far as both go; A has 2 epochs, B 3\n") == 1);
    CHECK(count(diff(a, b), "Identical") == 0);
  }
  SECTION("other weights") {
    write_trained(b, {0.5, 0.25}, at::tensor({1.0F, 2.5F}));
    const std::string text = diff(a, b);
    CHECK(count(text, "Identical") == 0);
    CHECK(count(text,
                "  checkpoint of step 10: differs in 1 of 2 tensors\n"
                "    method.weight  by up to 0.5\n") == 1);
  }
  SECTION("weights of another shape, or not a number in both") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    write_trained(a, {0.5, 0.25}, at::tensor({nan, 2.0F}));
    write_trained(b, {0.5, 0.25}, at::tensor({nan, 2.0F}));
    CHECK(count(diff(a, b), "Identical") == 1);
    write_trained(b, {0.5, 0.25}, at::tensor({nan}));
    CHECK(count(diff(a, b), "    method.weight  Float [2] and Float [1]\n") == 1);
  }
  SECTION("other results") {
    b.write_result(7, "end", 10, "0.125");
    CHECK(count(diff(a, b), "Identical") == 0);
  }
  SECTION("no checkpoint in common") {
    std::filesystem::remove_all(b / "checkpoints");
    const std::string text = diff(a, b);
    CHECK(count(text, "Identical") == 0);
    CHECK(count(text, "no step in common: A has step 10, B has none\n") == 1);
  }
}

TEST_CASE("an evaluation that failed is told, and is no result") {
  RunFixture a;
  a.write_toy("toy");
  a.write("results/09-end-knn.json",
          R"({"evaluator": "knn", "moment": "end", "epoch": 10, "error": "no <neighbours>"})");
  const RunRecord run = load_run(a.path());
  REQUIRE(run.failures == std::vector<std::string>{"knn at end, epoch 10: no <neighbours>"});
  for (const ResultRecord& result : run.results) CHECK(result.evaluator != "knn");
  CHECK(count(report_html(run), "Evaluation failed: knn at end, epoch 10: no &lt;neighbours&gt;") ==
        1);
  CHECK(count(summary_text(run), "Evaluation failed: knn at end, epoch 10: ") == 1);
  RunFixture b;
  b.write_toy("toy");
  CHECK(count(diff(a, b), "! A: evaluation failed: knn at end, epoch 10: no <neighbours>\n") == 1);
}

TEST_CASE("how long an evaluation took is read from the timing file") {
  RunFixture a;
  a.write_toy("toy");
  a.write("timing.jsonl", R"({"stage": "train", "epoch": 1, "seconds": 3.5})"
                          "\n"
                          R"({"result": "results/00-start-circle.json", "seconds": 12.5})"
                          "\n");
  const RunRecord run = load_run(a.path());
  REQUIRE_FALSE(run.results.empty());
  CHECK(run.results[0].moment == "start");
  CHECK(run.results[0].seconds == 12.5);
}
