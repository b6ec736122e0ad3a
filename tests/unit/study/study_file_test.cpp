#include "study/study_file.hpp"

#include "study_fixture.hpp"

namespace {

using namespace gh::host;
using namespace gh::host::test;
using Catch::Matchers::Contains;
using Strings = std::vector<std::string>;

TEST_CASE("everything a study can say") {
  const Studies s;
  const StudyFile study = s.read(R"(
name = "K"
seeds = [3, 1]
baseline = "plain"
metrics = ["knn", "few"]
layout = "paper"
blocks = ["data.samples"]
retries = 0
[base]
recipe = "gh.toml"
overrides = ["train.batch=5", 'method={id="simclr"}']
intended = ["views"]
[axes]
"data.samples" = [10, 20]
harmonize.structure.points = [4]
[[arm]]
label = "GH"
[[arm]]
label = "plain"
recipe = "plain.toml"
overrides = ["seed=0"]
intended = ["train.batch"]
axes = false
[scale.tiny]
epochs = 0.5
)");
  CHECK(study.name == "K");
  CHECK(study.seeds == std::vector<int64_t>{3, 1});
  CHECK(study.baseline == "plain");
  CHECK(study.metrics == Strings{"knn", "few"});
  CHECK(study.layout == "paper");
  CHECK(study.blocks == Strings{"data.samples"});
  CHECK(study.retries == 0);
  CHECK(study.base.file == s.dir.path() / "gh.toml");
  REQUIRE(study.overrides.size() == 2);
  CHECK(study.overrides[0].text == "train.batch=5");
  CHECK(study.overrides[0].at.line == 11);
  CHECK(study.overrides[0].at.column == 15);
  CHECK(study.intended == Strings{"views"});
  REQUIRE(study.axes.size() == 2);
  CHECK(study.axes[0].key == "data.samples");
  CHECK(study.axes[1].key == "harmonize.structure.points");
  CHECK(study.axes[0].values.size() == 2);
  REQUIRE(study.arms.size() == 2);
  CHECK(study.arms[0].axes);
  CHECK(!study.arms[1].axes);
  CHECK(study.arms[1].recipe.file == s.dir.path() / "plain.toml");
  CHECK(study.arms[1].intended == Strings{"train.batch"});
  REQUIRE(study.scales.size() == 1);
  CHECK(study.scales[0].epochs == 0.5);
}

TEST_CASE("a study without arms has one, without name that of its file") {
  const StudyFile study = Studies().read(kBase);
  CHECK(study.name == "study");
  CHECK(study.seeds.empty());
  CHECK(study.retries == 2);
  CHECK(study.layout == "rows");
  REQUIRE(study.arms.size() == 1);
  CHECK(study.arms[0].label.empty());
}

TEST_CASE("all mistakes of a study are told at once, each at its place, with the nearest key") {
  Studies s;
  const std::string text = s.mistakes(R"(nam = "K"
seeds = [1, 1, -1]
layout = "columns"
blocks = ["data.sample"]
[bse]
[base]
recipe = "gone.toml"
override = []
[axes]
"data.samples" = [10, 10]
"method.temperature" = []
"train.batch" = 5
seed = [1]
"~harmonize" = [1]
[[arm]]
labl = "a"
[[arm]]
label = "b"
axes = 3
[[arm]]
label = "b"
)",
                                      16);
  for (const char* message :
       {"study.toml:1:1: error: nam: unknown key of a study; did you mean 'name'",
        "seeds.2: expected an integer", "layout: expected one of rows, paper",
        "blocks: no axis \"data.sample\"; did you mean \"data.samples\"?", "did you mean 'base'",
        "base.recipe: no such file", "did you mean 'overrides'",
        "axes.data.samples: a value is there twice: 10",
        "axes.method.temperature: is an empty list",
        "axes.train.batch: expected a list of values, got an integer",
        "axes.seed: seeds are given by seeds", "axes.~harmonize: an axis sets a key",
        "arm.0.labl: unknown key of an arm; did you mean 'label'", "arm.0.label: missing",
        "arm.1.axes: expected true or false", "another arm is called \"b\", too"}) {
    INFO(message);
    CHECK_THAT(text, Contains(message));
  }
}

TEST_CASE("names are seen, and on one line") {
  Studies s;
  CHECK_THAT(s.mistakes("name = \"a\\nb\"\n" + kBase, 1),
             Contains("study.toml:1:8: error: name: expected one line"));
  CHECK_THAT(s.mistakes(kBase + R"([[arm]]
label = "  "
[[arm]]
label = "a\tb"
[[arm]]
label = "\u001b[31m"
[[arm]]
label = "日本語 é"
)",
                        3),
             Contains("arm.0.label: is empty") && Contains("arm.1.label: expected one line") &&
                 Contains("arm.2.label: expected one line"));
}

TEST_CASE("a seed that is there twice, or none at all") {
  Studies s;
  CHECK_THAT(s.mistakes("seeds = [0, 1, 0]\n" + kBase, 1), Contains("a seed is there twice: 0"));
  CHECK_THAT(s.mistakes("seeds = []\n" + kBase, 1), Contains("nothing would be run"));
  CHECK_THAT(s.mistakes("seeds = [-1]\n" + kBase, 1), Contains("seeds"));
}

TEST_CASE("tables of another kind, and none") {
  Studies s;
  CHECK_THAT(s.mistakes("name = \"a\"\n", 1), Contains("base: missing table"));
  CHECK_THAT(s.mistakes("base = 3\naxes = 4\narm = 5\nscale = 6\n", 4),
             Contains("axes: expected a table, got an integer") &&
                 Contains("arm: expected tables, each written [[arm]]"));
  CHECK_THAT(s.mistakes("arm = [3]\n" + kBase, 1), Contains("arm.0: expected a table"));
  CHECK_THAT(s.mistakes("[base\n", 1), Contains("not valid TOML"));
}

TEST_CASE("a study is known by its tables") {
  const Studies s;
  CHECK(is_study_file(s.write(kBase)));
  CHECK(is_study_file(s.write("[[arm]]\nlabel = \"a\"\n")));
  CHECK(!is_study_file(s.write("[base\n")));
  CHECK(!is_study_file(s.dir / "plain.toml"));
  CHECK(!is_study_file(s.dir / "gone.toml"));
  CHECK(!is_study_file(s.dir.path()));
}

}  // namespace
