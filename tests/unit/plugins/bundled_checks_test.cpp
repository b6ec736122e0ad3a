// What bundled evaluators and allocators refuse before training, by the facts that SDK 1.1 gives
// them.
#include "support/plugin_fixture.hpp"

#include <ATen/ops/arange.h>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using namespace gh;
using Counts = std::vector<int64_t>;

struct Heard final : Complaints, Warnings {
  void add(std::string_view key, std::string_view message) override {
    errors += std::string(key) + ": " + std::string(message) + "\n";
  }
  void warn(std::string_view key, std::string_view message) override {
    warnings += std::string(key) + ": " + std::string(message) + "\n";
  }
  std::string errors, warnings;
};

// Four classes; the test has all of them, "half" two, "more" five, "bare" no labels; "gone" cannot
// be opened.
EvalFacts four_classes() {
  EvalFacts facts;
  facts.splits = {"train", "test", "half", "more", "bare", "gone"};
  facts.class_targets = true;
  facts.sample_shape = {3, 32, 32};
  facts.feature_width = 8;
  facts.embedding_width = 2;
  const auto add = [&](const char* name, Counts counts) {
    int64_t samples = 0;
    for (const int64_t count : counts) samples += count;
    facts.split_facts.push_back(
        {name, samples, TargetKind::classes, static_cast<int64_t>(counts.size())});
    facts.class_counts.push_back(std::move(counts));
  };
  add("train", {40, 20, 10, 5});
  add("test", {6, 6, 6, 6});
  add("half", {3, 0, 3, 0});
  add("more", {1, 1, 1, 1, 1});
  facts.split_facts.push_back({"bare", 9, TargetKind::none, 0});
  facts.class_counts.emplace_back();
  facts.positions = [](std::string_view, std::string_view file) -> at::Tensor {
    require(file.ends_with("ten"), ErrorCode::io, file, " cannot be read");
    return at::arange(10, at::kLong);
  };
  return facts;
}

Heard asked(const std::string& evaluator, const std::string& params,
            const EvalFacts& facts = four_classes()) {
  Heard heard;
  test::load<Evaluator>(evaluator, params)->check(facts, heard);
  return heard;
}

struct Case {
  const char* evaluator;
  const char* params;
  const char* key;  // "": nothing is refused
  const char* says = "";
};

TEST_CASE("evaluators refuse splits, labels and counts that cannot work, and nothing else") {
  const Case cases[] = {
      {"knn", "k = 75", ""},
      {"knn", "k = 76", "k", "at most the 75 samples of the bank, got 76"},
      {"knn", "k = 20\nshots = 5", ""},
      {"knn", "k = 21\nshots = 5", "k", "at most the 20 samples"},
      {"knn", "k = 10\nlist = \"/of/ten\"", ""},
      {"knn", "k = 11\nlist = \"/of/ten\"", "k", "at most the 10 samples"},
      {"knn", "list = \"/of/none\"", "list", "cannot be read"},
      {"knn", "k = 1\nbank = \"bare\"", "bank", "has no class labels"},
      {"knn", "k = 1\nbank = \"more\"", "bank", "label 4"},
      {"knn", "split = \"bare\"", "split", "has no class labels"},
      {"knn", "split = \"gone\"", "split", "cannot be opened"},
      {"knn", "split = \"tset\"", "split", "has no split 'tset'; it has train, test"},
      {"knn", "split = \"half\"", "split", "2 of 4 classes have no sample"},
      {"knn", "split = \"half\"\nmissing = \"leave-out\"", ""},
      {"knn", "groups = \"lists(0-1; 2-7)\"", "groups", "no class 4"},
      {"linear_probe", "train_split = \"train\"", ""},
      {"linear_probe", "train_split = \"bare\"", "train_split", "has no class labels"},
      {"linear_probe", "train_split = \"train\"\nlist = \"/of/none\"", "list", "cannot be read"},
      {"linear_probe", "train_split = \"train\"\nsplit = \"bare\"", "split", "has no class labels"},
      {"finetune", "train_split = \"train\"", ""},
      {"finetune", "train_split = \"bare\"", "train_split", "has no class labels"},
      {"clusters", "points = 75", ""},
      {"clusters", "points = 76", "points", "at most the 75 samples"},
      {"clusters", "split = \"bare\"", "split", "has no class labels"},
      {"clusters", "source = \"structure\"", "source", "[harmonize]"},
      {"uniformity", "k = 3", ""},
      {"uniformity", "k = 4", "k", "less than the 4 classes"},
      {"uniformity", "k = 2\nsplit = \"half\"", "k", "less than the 2 classes"},
      {"uniformity", "split = \"bare\"", "split", "has no class labels"},
      {"alignment", "split = \"bare\"", ""},
      {"alignment", "split = \"gone\"", "split", "cannot be opened"},
      {"effective_rank", "split = \"bare\"", ""},
      {"circle", "split = \"bare\"", "split", "has no class labels"},
      {"tsne", "perplexity = 4.0\nclasses = [2, 3]", ""},
      {"tsne", "perplexity = 5.0\nclasses = [2, 3]", "perplexity", "with 15 samples"},
      {"tsne", "perplexity = 25.0", "perplexity", "with 75 samples"},
      {"tsne", "perplexity = 1.0\nclasses = [4]", "classes", "no class 4"},
      {"tsne", "perplexity = 1.0\nclasses = [1]\nsplit = \"half\"", "classes", "has no sample"},
      {"tsne", "perplexity = 1.0\nsplit = \"bare\"", "split", "has no class labels"},
  };
  for (const Case& c : cases) {
    INFO(c.evaluator << "\n" << c.params);
    const Heard heard = asked(c.evaluator, c.params);
    if (*c.key == 0)
      CHECK(heard.errors.empty());
    else
      CHECK_THAT(heard.errors,
                 Catch::StartsWith(std::string(c.key) + ": ") && Catch::Contains(c.says));
    CHECK(std::count(heard.errors.begin(), heard.errors.end(), '\n') == (*c.key == 0 ? 0 : 1));
  }
}

TEST_CASE("a map that small classes would make too small is warned of") {
  const Heard heard = asked("tsne", "perplexity = 5.0\nhead = 1\ntail = 1");
  CHECK(heard.errors.empty());
  CHECK_THAT(heard.warnings, Catch::Contains("perplexity: ") && Catch::Contains("15 samples"));
}

TEST_CASE("clusters by the structure need one, regression needs real targets everywhere") {
  EvalFacts facts = four_classes();
  facts.harmonize_points = 4;
  CHECK(asked("clusters", "source = \"structure\"", facts).errors.empty());
  facts.class_targets = false;
  facts.real_targets = true;
  for (SplitFacts& split : facts.split_facts)
    if (split.name != "test") split.targets = TargetKind::real;
  CHECK_THAT(asked("regression", "train_split = \"train\"", facts).errors,
             Catch::StartsWith("split: split 'test' has no real targets"));
  CHECK(asked("regression", "train_split = \"train\"\nsplit = \"half\"", facts).errors.empty());
}

TEST_CASE("what a host of SDK 1.0 does not know is not complained about") {
  EvalFacts facts = four_classes();
  facts.split_facts.clear();
  facts.class_counts.clear();
  facts.positions = nullptr;
  for (const Case& c : {Case{"knn", "k = 1000", ""}, Case{"clusters", "points = 1000", ""},
                        Case{"uniformity", "k = 9", ""}, Case{"tsne", "classes = [7]", ""},
                        Case{"knn", "list = \"/of/none\"", ""}}) {
    INFO(c.evaluator << " " << c.params);
    CHECK(asked(c.evaluator, c.params, facts).errors.empty());
  }
}

TEST_CASE("allocators without gradient refuse joint targets") {
  AllocatorFacts facts;
  facts.points = facts.classes = 4;
  facts.samples = 100;
  for (const char* id : {"argmax", "kmeans", "oracle", "sela_labels", "sinkhorn"}) {
    INFO(id);
    facts.differentiable = false;
    Heard heard;
    test::load<Allocator>(id)->check(facts, heard);
    CHECK(heard.errors.empty());
    facts.differentiable = true;
    test::load<Allocator>(id)->check(facts, heard);
    CHECK((heard.errors.find(".harmonize.targets: ") == 0) == (std::string(id) != "sinkhorn"));
  }
}

}  // namespace
