#include "study/expansion.hpp"

#include "study_fixture.hpp"

#include <fmt/format.h>

namespace {

using namespace gh::host;
using namespace gh::host::test;
using Catch::Matchers::Contains;
using Strings = std::vector<std::string>;

const std::string kTwoArms =
    "[[arm]]\nlabel = \"GH\"\n[[arm]]\nlabel = \"plain\"\n"
    "recipe = \"plain.toml\"\n";

TEST_CASE("rows are arms times the product of the axes, the last axis fastest") {
  Studies s;
  const auto rows =
      s.rows(kBase + "[axes]\n\"data.samples\" = [10, 20]\n\"train.batch\" = [4, 5]\n" + kTwoArms +
             "axes = false\n");
  CHECK(labels(rows) == Strings{"GH, samples = 10, batch = 4", "GH, samples = 10, batch = 5",
                                "GH, samples = 20, batch = 4", "GH, samples = 20, batch = 5",
                                "plain"});
  CHECK(rows[2].recipe.integer("data.samples") == 20);
  CHECK(rows[2].recipe.integer("train.batch") == 4);
  CHECK(rows[2].axes == std::vector<std::pair<std::string, std::string>>{{"data.samples", "20"},
                                                                         {"train.batch", "4"}});
  CHECK(rows[2].arm == 0);
  CHECK(rows[4].axes.empty());
  CHECK(rows[4].arm == 1);
  CHECK(rows[4].recipe.integer("data.samples") == 100);
  CHECK(rows[4].recipe.find("harmonize") == nullptr);
}

TEST_CASE("overrides of the base come before those of the arm, and the axes last") {
  Studies s;
  const auto rows = s.rows(kBase +
                           "overrides = [\"train.batch=1\", \"train.epochs=7\", "
                           "\"harmonize.warm_up=3\", \"data.samples=2\"]\n"
                           "[axes]\n\"data.samples\" = [30]\n"
                           "[[arm]]\nlabel = \"a\"\noverrides = [\"train.batch=2\", "
                           "\"data.samples=3\"]\n");
  CHECK(rows[0].recipe.integer("train.epochs") == 7);
  CHECK(rows[0].recipe.integer("train.batch") == 2);
  CHECK(rows[0].recipe.integer("data.samples") == 30);
}

TEST_CASE("labels are as short as tells rows apart") {
  Studies s;
  CHECK(labels(s.rows(kBase)) == Strings{"study"});
  CHECK(labels(s.rows(kBase + "[axes]\n\"train.batch\" = [4, 5]\n")) ==
        Strings{"batch = 4", "batch = 5"});
  CHECK(labels(s.rows(kBase + "[axes]\n\"method.temperature\" = [0.5]\n"
                              "\"harmonize.temperature\" = [0.1]\n")) ==
        Strings{"method.temperature = 0.5, harmonize.temperature = 0.1"});
  CHECK(labels(s.rows(kBase + "[axes]\n\"harmonize.structure.id\" = [\"etf\", \"learnt\"]\n")) ==
        Strings{"structure = etf", "structure = learnt"});
  CHECK(labels(s.rows(kBase + "[axes]\n\"+backbone.start\" = [\"/a/x\", \"/a/y\"]\n")) ==
        Strings{"start = x", "start = y"});
  CHECK(labels(s.rows(kBase + "[axes]\n\"+backbone.start\" = [\"/a/x\", \"/b/x\"]\n")) ==
        Strings{"start = /a/x", "start = /b/x"});
  CHECK(
      labels(s.rows(kBase + "[axes]\n\"harmonize.structure\" = [{id = \"learnt\", points = 5}]\n"))
          .front() == "structure = { id = \"learnt\", points = 5 }");
  CHECK_THAT(s.mistakes(kBase + "[axes]\n\"train.batch\" = [4]\n[[arm]]\nlabel = \"a, batch = 4\"\n"
                                "axes = false\n[[arm]]\nlabel = \"a\"\n",
                        1),
             Contains("two rows would be called \"a, batch = 4\""));
}

TEST_CASE("an axis may be a component, whose other keys are its own") {
  Studies s;
  const auto rows = s.rows(kBase + "[axes]\n\"harmonize.structure.id\" = [\"etf\", \"learnt\"]\n");
  CHECK(rows[1].recipe.slot("harmonize.structure").id == "learnt");
  CHECK(rows[1].recipe.integer("harmonize.structure.points") == 4);
}

TEST_CASE("the first seed of the study is that of its recipes, and another is set later") {
  Studies s;
  const auto seeded = s.read("seeds = [7, 8]\n" + kBase);
  const auto rows = s.rows_of(seeded);
  CHECK(rows[0].recipe.integer("seed") == 7);
  CHECK(seeds_of(seeded, rows) == std::vector<int64_t>{7, 8});
  CHECK(with_seed(rows[0].recipe, 8).integer("seed") == 8);

  const auto plain = s.read(kBase + "overrides = [\"seed=5\"]\n");
  CHECK(seeds_of(plain, s.rows_of(plain)) == std::vector<int64_t>{5});
}

TEST_CASE("what is wrong with a row is told where the study says it, once, with the row") {
  Studies s;
  const std::string text = s.mistakes(
      kBase +
          "overrides = [\"train.bach=1\"]\n[axes]\n\"harmonize.wieght\" = [1.0, 2.0]\n"
          "\"method.temperature\" = [0.5, -1.0]\n" +
          "[[arm]]\nlabel = \"GH\"\noverrides = [\"train.epochs=10\", 'data.samples=\"x\"']\n",
      5);
  CHECK_THAT(text, Contains("study.toml:3:15: error: train.bach: unknown key") &&
                       Contains("did you mean 'batch'"));
  CHECK_THAT(text, Contains("study.toml:5:1: error: harmonize.wieght") &&
                       Contains("did you mean 'weight'"));
  CHECK_THAT(text, Contains("study.toml:6:30: error: method.temperature: expected a number > 0"));
  CHECK_THAT(text, Contains("study.toml:9:47: error: data.samples: expected an integer"));
  CHECK_THAT(text, Contains("gh.toml:6:11: error: harmonize.warm_up: expected less than"));
  CHECK_THAT(text, Contains("(in \"GH, wieght = 1.0, temperature = 0.5\")"));
}

TEST_CASE("what is wrong with a recipe's file is told there") {
  Studies s;
  s.dir.write("wrong.toml", "include = [\"plain.toml\"]\n[train]\nepoch = 1\n");
  CHECK_THAT(s.mistakes(kBase + "[[arm]]\nlabel = \"a\"\nrecipe = \"wrong.toml\"\n"
                                "[[arm]]\nlabel = \"b\"\nrecipe = \"wrong.toml\"\n",
                        1),
             Contains("wrong.toml:3:1: error: train.epoch") && Contains("(in \"a\")"));
}

TEST_CASE("paths of overrides are relative to the study") {
  Studies s;
  const auto rows = s.rows(kBase +
                           "overrides = [\"+backbone.start=there/x\"]\n[[arm]]\nlabel = \"a\"\n"
                           "[[arm]]\nlabel = \"b\"\noverrides = [\"backbone.start=y\"]\n");
  CHECK(rows[0].recipe.text("backbone.start") == (s.dir / "there/x").string());
  CHECK(rows[1].recipe.text("backbone.start") == (s.dir / "y").string());
}

TEST_CASE("a scale shrinks every row, says so, and its own mistakes are told as its") {
  Studies s;
  const Scale half{.name = "half", .epochs = 0.5, .width = 0.5, .overrides = {}};
  const auto rows = s.rows(kBase + kTwoArms, &half);
  CHECK(rows[0].recipe.integer("train.epochs") == 50);
  CHECK(rows[0].recipe.integer("harmonize.warm_up") == 25);
  CHECK(rows[0].recipe.integer("backbone.width") == 32);
  CHECK_THAT(rows[0].scaled, Contains("train.epochs: 100 → 50"));
  const Scale fewer{.name = "fewer", .epochs = 0.5, .width = 1, .overrides = {"data.samples=20"}};
  CHECK_THAT(s.rows(kBase, &fewer)[0].scaled,
             Contains("train.epochs: 100 → 50") && Contains("data.samples: 100 → 20"));
  CHECK(rows[1].recipe.integer("train.epochs") == 50);
  const Scale wrong{.name = "wrong", .epochs = 0.5, .width = 1, .overrides = {"data.sample=1"}};
  CHECK_THAT(s.mistakes(kBase, 1, &wrong),
             Contains("--scale wrong: error: data.sample") && Contains("did you mean 'samples'"));
}

TEST_CASE("what else is asked of a recipe is told of the row, where its keys are") {
  Studies s;
  const StudyFile study = s.read(kBase + kTwoArms);
  Diagnostics problems;
  expand(study, s.parts, nullptr, problems, [](const Recipe& recipe, Diagnostics& out) {
    out.error(locate(recipe.resolved, "train.batch"), "train.batch", "is odd");
  });
  CHECK(problems.error_count() == 1);  // the same place in both
  CHECK_THAT(problems.text(),
             Contains("plain.toml:12:1: error: train.batch: is odd (in \"GH\")") ||
                 Contains("plain.toml:12:9: error: train.batch: is odd (in \"GH\")"));
}

TEST_CASE("more rows than anybody means are refused before they are made") {
  Studies s;
  std::string axes;
  for (const char* key : {"train.batch", "data.samples", "train.epochs"}) {
    axes += fmt::format("\"{}\" = [", key);
    for (int i = 1; i <= 60; ++i) axes += std::to_string(i) + ", ";
    axes += "]\n";
  }
  CHECK_THAT(s.mistakes(kBase + "[axes]\n" + axes, 1), Contains("more than 100000 rows"));
}

// ---- what rows are compared with ----

Strings baselines(const std::vector<StudyRow>& rows) {
  Strings out;
  for (const StudyRow& row : rows) out.push_back(row.baseline);
  return out;
}

TEST_CASE("a row is compared with the baseline at its own point of the axes") {
  Studies s;
  const std::string axes = kBase + "[axes]\n\"data.samples\" = [10, 20]\n";
  CHECK(baselines(s.rows("baseline = \"plain\"\n" + axes + kTwoArms)) ==
        Strings{"plain, samples = 10", "plain, samples = 20", "plain, samples = 10",
                "plain, samples = 20"});
  CHECK(baselines(s.rows("baseline = \"plain\"\n" + axes + kTwoArms + "axes = false\n")) ==
        Strings{"plain", "plain", "plain"});
  CHECK(baselines(s.rows(axes + kTwoArms)) == Strings{"", "", "", ""});
}

TEST_CASE("a row without axes is compared at what its recipe has for them") {
  Studies s;
  const auto with = [&](const std::string& samples) {
    return baselines(s.rows("baseline = \"GH\"\n" + kBase +
                            "[axes]\n\"data.samples\" = [10, 20]\n\"method.temperature\" = [1]\n" +
                            kTwoArms + "axes = false\noverrides = [\"data.samples=" + samples +
                            "\", \"method.temperature=1.0\"]\n"))
        .back();
  };
  CHECK(with("20") == "GH, samples = 20, temperature = 1");
  CHECK(with("30").empty());
}

TEST_CASE("one row may be the baseline of all") {
  Studies s;
  const std::string axes = kBase + "[axes]\n\"data.samples\" = [10, 20]\n";
  CHECK(baselines(s.rows("baseline = \"samples = 20\"\n" + axes)) ==
        Strings{"samples = 20", "samples = 20"});
  CHECK(baselines(s.rows("baseline = \"GH, samples = 10\"\n" + axes + kTwoArms)) ==
        Strings(4, "GH, samples = 10"));
  CHECK_THAT(s.mistakes("baseline = \"plan\"\n" + axes + kTwoArms, 1),
             Contains("study.toml:1:12: error: baseline: no arm is called \"plan\", did you mean "
                      "\"plain\"?"));
}

// ---- what was not meant ----

TEST_CASE("what an axis, an arm or its recipe is about was meant") {
  Studies s;
  const std::string head = "baseline = \"plain\"\n" + kBase;
  for (const auto& row : s.rows(head + "[axes]\n\"data.samples\" = [10, 20]\n" + kTwoArms))
    CHECK(row.unintended == Strings{});
  CHECK(s.rows(head +
               "[[arm]]\nlabel = \"plain\"\nrecipe = \"plain.toml\"\n[[arm]]\nlabel = \"GH\"\n"
               "overrides = [\"train.batch=3\", 'train.optimizer={id=\"adamw\"}', "
               "'method.id=\"barlow\"', \"views.noise=0.2\"]\n")[1]
            .unintended == Strings{});
}

TEST_CASE("what two recipe files have otherwise by chance was not meant") {
  Studies s;
  s.dir.write(
      "other.toml",
      "include = [\"gh.toml\"]\n[train]\nbatch = 20\noptimizer = {id = \"adamw\", lr = 0.1}\n"
      "[method]\nid = \"barlow\"\n[loader]\nthreads = 2\n[[eval]]\nid = \"knn\"\nk = 5\n"
      "[[eval]]\nid = \"probe\"\n");
  const std::string arms =
      "[[arm]]\nlabel = \"plain\"\nrecipe = \"plain.toml\"\n"
      "[[arm]]\nlabel = \"other\"\nrecipe = \"other.toml\"\n";
  const std::string head = "baseline = \"plain\"\n";
  CHECK(s.rows(head + kBase + arms)[1].unintended ==
        Strings{"eval.0.k", "train.batch", "train.optimizer.id"});
  CHECK(s.rows(head + kBase + arms +
               "overrides = [\"train.batch=20\"]\n"
               "intended = [\"train.optimizer\"]\n")[1]
            .unintended == Strings{"eval.0.k"});
  CHECK(s.rows(head + kBase + "intended = [\"train\", \"eval\"]\n" + arms)[1].unintended ==
        Strings{});
}

TEST_CASE("an override of the base that only one arm's recipe needs was not meant") {
  Studies s;
  s.dir.write("other.toml", "include = [\"gh.toml\"]\n[train]\nbatch = 20\n");
  CHECK(s.rows("baseline = \"GH\"\n" + kBase +
               "overrides = [\"train.epochs=60\"]\n"
               "[[arm]]\nlabel = \"GH\"\n[[arm]]\nlabel = \"b\"\nrecipe = \"other.toml\"\n")[1]
            .unintended == Strings{"train.batch"});
}

}  // namespace
