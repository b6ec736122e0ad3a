#include "eval/split_store.hpp"
#include "data/targets.hpp"
#include "support/fake_data.hpp"

#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <map>

namespace {

using namespace gh;
using namespace gh::host;

// Splits of their own kind each, which speak when they are opened and count how often.
struct Several final : Dataset, SpeakingDataset {
  std::map<std::string, test::FakeSet> sets;
  mutable std::map<std::string, int> times;

  std::vector<std::string> splits() const override { return {"train", "test", "gone", "bare"}; }
  std::unique_ptr<Split> open(std::string_view split, uint64_t seed) const override {
    require(split != "gone", ErrorCode::missing_data, "fetch it elsewhere");
    ++times[std::string(split)];
    return sets.at(std::string(split)).open(split, seed);
  }
  std::unique_ptr<Split> open(std::string_view split, uint64_t seed,
                              Notices& notices) const override {
    notices.say(Severity::info, "opening " + std::string(split));
    return open(split, seed);
  }
  void* query(const char* id) override {
    return std::string_view(id) == SpeakingDataset::kId ? static_cast<SpeakingDataset*>(this)
                                                        : nullptr;
  }
};

struct Fixture {
  Several data;
  std::vector<std::string> said;
  Say say = [this](Severity, std::string_view text) { said.emplace_back(text); };

  Fixture() {
    data.sets["train"] = test::vectors(9);
    data.sets["test"] = test::vectors(4);
    data.sets["bare"] = test::vectors(5);
    data.sets["bare"].kind = TargetKind::none;
  }
};

TEST_CASE("splits are looked at without being read, and opened once") {
  Fixture f;
  const SampleSet train = SampleSet::open(
      f.data, "train", 0, LongTail{.law = "counts", .counts = {3, 2, 1}}, false, f.say);
  SplitStore splits(f.data, 0, train, false, f.say);
  const std::vector<SplitStore::Known> known = splits.look();
  REQUIRE(known.size() == 4);
  using Counts = std::vector<int64_t>;
  CHECK((known[0].facts.name == "train" && known[0].facts.samples == 6));
  CHECK((known[0].facts.classes == 3 && known[0].class_counts == Counts{3, 2, 1}));
  CHECK((known[1].facts.name == "test" && known[1].class_counts == Counts{2, 1, 1}));
  CHECK((known[2].facts.name == "bare" && known[2].facts.samples == 5));
  CHECK((known[2].facts.targets == TargetKind::none && known[2].facts.classes == 0));
  CHECK((known[3].facts.name == "train:full" && known[3].class_counts == Counts{3, 3, 3}));
  CHECK(f.said == std::vector<std::string>{"opening train", "opening test", "opening gone",
                                           "split 'gone' cannot be opened: fetch it elsewhere",
                                           "opening bare"});
  CHECK(splits.get("test").size() == 4);
  CHECK(splits.look().size() == 4);
  CHECK(f.data.times["test"] == 1);
  CHECK(f.data.times["train"] == 1);
  CHECK_THROWS_WITH(splits.get("gone"), Catch::Contains("elsewhere"));
}

TEST_CASE("a split with labels that cannot be is refused when it is looked at") {
  Fixture f;
  f.data.sets["test"].given_targets = at::tensor({0, 1, -3, 0}, at::kLong);
  const SampleSet train = SampleSet::open(f.data, "train", 0, std::nullopt);
  SplitStore splits(f.data, 0, train);
  CHECK_THROWS_AS(splits.look(), DataRefused);
}

}  // namespace
