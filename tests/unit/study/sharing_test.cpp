#include "study/sharing.hpp"

#include "unit/study/twenty_epochs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

namespace {

using namespace gh::host;
using gh::test::Overrides;

struct Fixture : gh::test::TwentyEpochs {
  // From the one end and from the other.
  int64_t alike(const Overrides& a, const Overrides& b) {
    const Recipe one = load(a), two = load(b);
    const int64_t epochs = alike_until(one, two);
    CHECK(alike_until(two, one) == epochs);
    CHECK(parting_of(one, two).epochs == epochs);
    return epochs;
  }
  int64_t alike(const std::string& change) { return alike({}, {change}); }
};

TEST_CASE("what changes no number never parts runs") {
  Fixture f;
  CHECK(f.alike({}, {}) == 20);
  for (const char* change : {"name=\"b\"", "checkpoint.every=3", "checkpoint.keep=7",
                             "loader.threads=2", "loader.prefetch=5", "ranks.timeout=9"})
    CHECK(f.alike(change) == 20);
}

TEST_CASE("what a method, data or views are told parts runs at the start") {
  Fixture f;
  for (const char* change :
       {"seed=1", "method.temperature=0.5", "views.noise=0.2", "train.epochs=21", "train.batch=4",
        "train.clip=1", "train.threads=2", "train.optimizer.lr=0.2", "train.optimizer.momentum=0.5",
        "~harmonize", "loader.on_error=\"skip\"", "+data.longtail={ratio=2}"})
    CHECK(f.alike(change) == 0);
}

TEST_CASE("what only the GH loss reads parts runs at the end of the warm-up") {
  Fixture f;
  for (const char* change :
       {"harmonize.weight=2", "harmonize.ramp=3", "harmonize.momentum=0.5",
        "harmonize.temperature=0.2", "harmonize.directions=\"one\"", "harmonize.targets=\"joint\"",
        "harmonize.allocate=\"log-softmax\"", "harmonize.allocator.iterations=5",
        "harmonize.allocator.id=\"other\"", "+harmonize.prior.refresh=3"})
    CHECK(f.alike(change) == 8);
  // What is watched in the warm-up, or told to components.
  for (const char* change : {"harmonize.structure.points=5", "harmonize.logits=\"cosine\"",
                             "harmonize.track=\"softmax\"", "harmonize.warm_up_momentum=0.8",
                             "harmonize.apply=\"projector\"", "harmonize.mode=\"paper\"",
                             "+harmonize.prior.id=\"oracle\""})
    CHECK(f.alike(change) == 0);
  const std::string softmax = "harmonize.track=\"softmax\"";
  CHECK(f.alike({softmax}, {softmax, "harmonize.temperature=0.2"}) == 0);
  CHECK(f.alike({"harmonize.track_from=3"}, {"harmonize.track_from=6"}) == 2);
  CHECK(f.alike({"harmonize.track_from=13"}, {"harmonize.track_from=11"}) == 10);
}

TEST_CASE("what the prior follows parts runs when it is first counted") {
  Fixture f;
  const std::string late = "+harmonize.prior.refresh_at=\"epoch\"";
  CHECK(f.alike("+harmonize.prior.floor=1") == 7);
  CHECK(f.alike("+harmonize.prior.id=\"uniform\"") == 7);
  CHECK(f.alike("harmonize.warm_up=10") == 7);
  CHECK(f.alike("harmonize.warm_up=5") == 4);
  CHECK(f.alike(late) == 6);
  CHECK(f.alike({late}, {late, "+harmonize.prior.floor=1"}) == 6);
  CHECK(f.alike({late}, {late, "harmonize.prior.refresh=3"}) == 7);
  CHECK(f.alike({late}, {late, "harmonize.warm_up=10"}) == 6);
  CHECK(f.alike({late}, {late, "harmonize.weight=2"}) == 8);
  CHECK(f.alike({late, "harmonize.warm_up=1"},
                {late, "harmonize.warm_up=1", "harmonize.weight=2"}) == 1);
  CHECK(f.alike({"harmonize.warm_up=0"}, {"harmonize.warm_up=0", "harmonize.weight=2"}) == 0);
}

TEST_CASE("schedules part runs where the first rate differs") {
  Fixture f;
  const auto with = [](const std::string& schedule) {
    return Overrides{"train.schedule=" + schedule};
  };
  const std::string step = "{id=\"step\",warm_up=3,milestones=[12,15]}";
  CHECK(f.alike({}, with("{id=\"step\",warm_up=3,milestones=[12,17]}")) == 15);
  CHECK(f.alike({}, with("{id=\"step\",warm_up=3,milestones=[15,12]}")) == 20);
  CHECK(f.alike({}, with("{id=\"step\",warm_up=3,milestones=[13]}")) == 12);
  CHECK(f.alike({}, with("{id=\"step\",warm_up=3,milestones=[12,15],gamma=0.2}")) == 12);
  CHECK(f.alike({}, with("{id=\"step\",warm_up=4,milestones=[12,15]}")) == 0);
  CHECK(f.alike({}, with("{id=\"cosine\",warm_up=3}")) == 2);
  CHECK(f.alike({}, with("{id=\"cosine\",warm_up=3,per=\"step\"}")) == 0);
  CHECK(f.alike({}, with("{id=\"gh-two-stage\",warm_up=3}")) == 2);
  CHECK(f.alike(with("{id=\"constant\"}"), with("{id=\"step\",milestones=[9]}")) == 9);
  CHECK(f.alike(with("{id=\"constant\"}"), with("{id=\"step\",milestones=[9],gamma=1}")) == 20);
  CHECK(f.alike(with("{id=\"constant\"}"), with("{id=\"step\",warm_up=1,milestones=[9]}")) == 9);
  CHECK(f.alike(with("{id=\"cosine\",warm_up=3}"), with("{id=\"cosine\",warm_up=3,lr_min=0.01}")) ==
        2);
  CHECK(f.alike(with("{id=\"cosine\",warm_up=3,per=\"step\"}"),
                with("{id=\"cosine\",warm_up=3,per=\"step\",lr_min=0.01}")) == 3);
  const std::string two = "{id=\"gh-two-stage\",warm_up=3";
  CHECK(f.alike(with(two + "}"), with(two + ",lr_min=0.01}")) == 7);
  CHECK(f.alike(with(two + "}"), with(two + ",lr_split=0.2}")) == 2);
  Overrides longer = with(two + "}");
  longer.push_back("harmonize.warm_up=10");
  CHECK(f.alike(with(two + "}"), longer) == 2);
}

TEST_CASE("evaluations part runs at their first moment, which whoever goes on makes itself") {
  Fixture f;
  const auto with = [](const std::string& keys) {
    return Overrides{"eval=[{id=\"eval\"," + keys + "}]"};
  };
  CHECK(f.alike({}, with("when=[\"end\"],k=5")) == 20);
  CHECK(f.alike({}, {"~eval"}) == 20);
  CHECK(f.alike({}, with("when=[\"start\",\"end\"]")) == 0);
  CHECK(f.alike({}, with("when=[\"warm-up\",\"end\"]")) == 8);
  CHECK(f.alike({}, with("every=5")) == 5);
  CHECK(f.alike(with("every=5"), with("every=5,when=[\"warm-up\"]")) == 8);
  CHECK(f.alike(with("every=5"), with("every=10")) == 5);
  CHECK(f.alike(with("every=5"), with("every=5,k=3")) == 5);
  CHECK(f.alike(with("every=5"), {"eval=[{id=\"eval\"},{id=\"eval\",every=5}]"}) == 5);
}

TEST_CASE("the best checkpoints are chosen alike, or nothing is shared") {
  Fixture f;
  CHECK(f.alike("checkpoint.best=2") == 0);
  CHECK(f.alike({"checkpoint.best=2"}, {"checkpoint.best=2", "checkpoint.every=2"}) == 0);
  CHECK(f.alike({"checkpoint.best=2"}, {"checkpoint.best=2", "harmonize.weight=2"}) == 8);
  CHECK(f.alike({"checkpoint.best=2"}, {"checkpoint.best=2", "checkpoint.keep=5"}) == 20);
}

TEST_CASE("it is told what parts two runs, and nothing that acts later") {
  Fixture f;
  const auto why = [&](const Overrides& a, const Overrides& b) {
    return to_text(parting_of(f.load(a), f.load(b)).why);
  };
  CHECK(why({}, {"harmonize.weight=2", "eval.0.k=3"}) == "  harmonize.weight: 1.0 → 2.0\n");
  CHECK(why({}, {"harmonize.weight=2", "seed=4", "method.temperature=0.3"}) ==
        "  method.temperature: 0.2 → 0.3\n  seed: 0 → 4\n");
  CHECK(why({"~harmonize"}, {}).find("harmonize.structure.id: (absent) → \"points\"\n") !=
        std::string::npos);
  CHECK(why({}, {"name=\"x\""}).empty());
  CHECK(why({}, {"harmonize.warm_up=5", "harmonize.weight=2"}) == "  harmonize.warm_up: 8 → 5\n");
  CHECK(why({}, {"train.schedule.milestones=[12]"}) ==
        "  train.schedule from epoch 16: the optimizer's rate times 0.1 to the power of 2 → "
        "(absent)\n");
}

// ---- trees ----

Overrides random_overrides(std::mt19937& random) {
  const std::vector<std::vector<std::string>> choices = {
      {"harmonize.weight=2", "harmonize.weight=3"},
      {"harmonize.warm_up=5", "harmonize.warm_up=12"},
      {"harmonize.allocator.iterations=5"},
      {"method.temperature=0.5"},
      {"train.schedule={id=\"constant\"}", "train.schedule={id=\"step\",milestones=[12,17]}",
       "train.schedule={id=\"gh-two-stage\",warm_up=4}",
       "train.schedule={id=\"gh-two-stage\",warm_up=4,lr_min=0.01}"},
      {"+harmonize.prior={refresh=3}", "+harmonize.prior={refresh_at=\"epoch\"}",
       "+harmonize.prior={refresh_at=\"epoch\",floor=2}", "+harmonize.prior={id=\"uniform\"}"},
      {"eval.0.every=6", "eval.0.when=[\"warm-up\"]", "eval.0.k=4"},
      {"harmonize.track_from=4", "harmonize.track_from=10"}};
  Overrides out;
  for (const auto& values : choices)
    if (const std::size_t pick = random() % (3 * values.size()); pick < values.size())
      out.push_back(values[pick]);
  return out;
}

using Group = std::set<std::size_t>;

// Runs that are alike for `epochs` or more, by looking at every pair.
std::set<Group> groups_at(const std::vector<std::vector<int64_t>>& alike, int64_t epochs) {
  std::set<Group> out;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    Group group = {i};
    for (std::size_t j = 0; j < alike.size(); ++j)
      if (j != i && alike[i][j] >= epochs) group.insert(j);
    out.insert(group);
  }
  return out;
}

// Of a trunk, with those of the trunks that begin with it.
Group all_of(const std::vector<Trunk>& trunks, std::size_t index) {
  Group out(trunks[index].members.begin(), trunks[index].members.end());
  for (std::size_t i = index + 1; i < trunks.size(); ++i)
    if (trunks[i].parent == index) out.merge(all_of(trunks, i));
  return out;
}

TEST_CASE("trunks are the groups that looking at every pair finds, and save what they say") {
  Fixture f;
  std::mt19937 random(1);
  std::size_t nested = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Recipe> recipes;
    for (std::size_t i = 0; i < 2 + random() % 9; ++i)
      recipes.push_back(f.load(random_overrides(random)));
    std::vector<const Recipe*> runs;
    for (const Recipe& recipe : recipes) runs.push_back(&recipe);
    std::vector<std::vector<int64_t>> alike(runs.size(), std::vector<int64_t>(runs.size(), 20));
    for (std::size_t i = 0; i < runs.size(); ++i)
      for (std::size_t j = 0; j < runs.size(); ++j) alike[i][j] = alike_until(*runs[i], *runs[j]);
    for (const auto& row : alike)  // of three, none differs from both others more than they do
      for (std::size_t i = 0; i < runs.size(); ++i)
        for (std::size_t j = 0; j < runs.size(); ++j)
          REQUIRE(alike[i][j] >= std::min(row[i], row[j]));

    std::map<Group, int64_t> expected;  // → until
    int64_t saved = 0;
    for (int64_t epochs = 1; epochs <= 20; ++epochs) {
      const std::set<Group> groups = groups_at(alike, epochs);
      saved += static_cast<int64_t>(runs.size() - groups.size());
      for (const Group& group : groups)
        if (group.size() > 1) expected[group] = epochs;
    }
    const std::vector<Trunk> trunks = shared_trunks(runs);
    std::map<Group, int64_t> found;
    Group members;
    for (std::size_t i = 0; i < trunks.size(); ++i) {
      const Group group = all_of(trunks, i);
      found[group] = trunks[i].until;
      CHECK(trunks[i].recipe == *group.begin());
      for (const std::size_t member : trunks[i].members) CHECK(members.insert(member).second);
      if (!trunks[i].parent) continue;
      ++nested;
      CHECK(*trunks[i].parent < i);
      CHECK(trunks[*trunks[i].parent].until < trunks[i].until);
    }
    CHECK(found == expected);
    CHECK(found.size() == trunks.size());
    CHECK(epochs_saved(trunks) == saved);
  }
  CHECK(nested > 10);
}

TEST_CASE("ten thousand runs are sorted, not compared with one another") {
  Fixture f;
  std::vector<Recipe> recipes;
  for (int seed = 0; seed < 10; ++seed)
    for (int weight = 1; weight <= 10; ++weight)
      recipes.push_back(
          f.load({"seed=" + std::to_string(seed), "harmonize.weight=" + std::to_string(weight)}));
  std::vector<const Recipe*> runs;
  for (int i = 0; i < 100; ++i)
    for (const Recipe& recipe : recipes) runs.push_back(&recipe);
  const std::vector<Trunk> trunks = shared_trunks(runs);
  CHECK(trunks.size() == 10 + 100);  // a seed's warm-up; within it, the whole of a weight's
  CHECK(epochs_saved(trunks) == 10'000 * 20 - (10 * 8 + 100 * 12));
  CHECK(shared_trunks({}).empty());
}

}  // namespace
