#include "recipe_fixture.hpp"

using namespace gh::host;
using namespace gh::host::test;
using Catch::Contains;

TEST_CASE("overrides set, add and remove") {
  struct Case {
    std::vector<std::string> overrides;
    std::string path, value;  // resolved value as TOML, "" for absent
  };
  const auto [overrides, path, value] = GENERATE(values<Case>({
      {{"train.epochs=30"}, "train.epochs", "30"},
      {{"train.epochs = 30 "}, "train.epochs", "30"},
      {{"train.epochs=30", "train.epochs=31"}, "train.epochs", "31"},
      {{"train.threads=2"}, "train.threads", "2"},  // known to the schema, not in the file
      {{"+train.threads=2"}, "train.threads", "2"},
      {{"seed=3"}, "seed", "3"},
      {{"name=run_1"}, "name", "\"run_1\""},  // a bare word is a string
      {{"name=\"a b\""}, "name", "\"a b\""},
      {{"name='a b'"}, "name", "\"a b\""},
      {{"name=~/x.y-z"}, "name", "\"~/x.y-z\""},
      {{"name=a=b"}, "name", "\"all of it\""},  // not a bare word: refused
      {{"name=\"a=b\""}, "name", "\"a=b\""},
      {{"backbone.widths=[1, 2]"}, "backbone.widths", "[1, 2]"},
      {{"backbone.widths.1=9"}, "backbone.widths", "[8, 9]"},
      {{"+backbone.widths.2=9"}, "backbone.widths", "[8, 4, 9]"},
      {{"~backbone.widths.0"}, "backbone.widths", "[4]"},
      {{"~backbone.widths"}, "backbone.widths", "[32, 16]"},  // back to the default
      {{"method.projector.dim=3"}, "method.projector.dim", "3"},
      {{"~method.projector"}, "method.projector.dim", "128"},
      {{"+method.projector.norm=false"}, "method.projector.norm", "false"},
      {{"eval.1.k=5"}, "eval.1.k", "5"},
      {{"~eval.0"}, "eval.0.k", "1"},  // the second moved up
      {{"~eval"}, "eval", "[]"},
      {{"+eval={id = \"knn\", k = 7}"}, "eval.2.k", "7"},
      {{"~eval", "+eval={id = \"knn\", k = 7}"}, "eval.0.k", "7"},
      {{"+eval.2.id=knn", "eval.2.k=8"}, "eval.2.k", "8"},
      {{"~eval", "+eval.0.id=knn"}, "eval.0.k", "20"},
      {{"eval=[]"}, "eval", "[]"},
      {{"~data.longtail"}, "data.longtail", ""},
      {{"~data.longtail", "data.longtail={ratio = 5}"}, "data.longtail.ratio", "5.0"},
      {{"~data.longtail", "+data.longtail.ratio=5"}, "data.longtail.law", "\"exp\""},
      {{"~views", "views.count=5"}, "views.group.0.count", "5"},  // every recipe has [views]
      {{"~train.schedule", "train.schedule.id=cosine"}, "train.schedule.id", "\"cosine\""},
      {{"~harmonize", "~train.schedule", "~eval"}, "harmonize", ""},
      {{"method={id = \"barlow\"}"}, "method.lambda", "0.005"},
      {{"harmonize.structure={id = \"etf\", points = 3}"}, "harmonize.structure.points", "3"},
  }));
  CAPTURE(overrides);
  const Loaded loaded = load(kFull, overrides);
  INFO(summary(loaded.out));
  CHECK(loaded.out.has_errors() == (overrides.front() == "name=a=b"));
  const Value* found = loaded.recipe.find(path);
  CHECK((found ? to_toml_value(*found) : "") == value);
}

TEST_CASE("an override that cannot apply is refused with what to write instead") {
  struct Case {
    std::string override, message;
    int column;
  };
  const auto [text, message, column] = GENERATE(values<Case>({
      {"harmonize.weight=2",
       "harmonize.weight: 'harmonize' is not in the recipe; to add it, write +harmonize.weight=2",
       1},
      {"harmonise.weight=2", "'harmonise' is not in the recipe; did you mean 'harmonize'?", 1},
      {"trian.epochs=2", "'trian' is not in the recipe; did you mean 'train'?", 1},
      {"method.queue.size=2",
       "'queue' is not in [method]; if the component has such a table, add it with "
       "+method.queue.size=2",
       1},
      {"train.epoch=2", "train.epoch: unknown key of [train]; did you mean 'epochs'?", 1},
      {"+train.epoch=2", "train.epoch: unknown key of [train]; did you mean 'epochs'?", 2},
      {"+harmonise.weight=2", "harmonise: unknown table of the recipe; did you mean 'harmonize'?",
       2},
      {"train.epochs=0", "train.epochs: expected an integer in 1 … 1000000 (epochs), got 0", 14},
      {"train.optimizer={id = \"sgd\", lr = -1}",
       "train.optimizer.lr: expected a number > 0, got -1", 35},
      {"train.epochs=ten",
       "train.epochs: expected an integer in 1 … 1000000 (epochs), got the string \"ten\"", 14},
      {"train.epochs.x=1", "train.epochs is an integer, not a table", 1},
      {"train.epochs.x.y=1", "train.epochs is an integer, not a table", 1},
      {"+train.epochs=2", "train.epochs: is set already at ", 2},
      {"~train.threads", "'threads' is not in [train]", 2},
      {"~train.epoch", "'epoch' is not in [train]; did you mean 'epochs'?", 2},
      {"~harmonize", "'harmonize' is not in the recipe", 2},
      {"~train.epochs=3", "removing takes no value; write ~train.epochs", 14},
      {"eval.0.k=1", "'eval' is not in the recipe; to add it, write +eval.0.k=1", 1},
      {"backbone.widths.0=1", "'widths' is not in [backbone]", 1},
      {"train.epochs", "expected key=value, +key=value to add or ~key to remove", 1},
      {"train.epochs=", "no value; the empty string is 'train.epochs=\"\"'", 14},
      {"name=two words",
       "two words is not a TOML value; quote a string twice, for TOML and for the shell: "
       "'name=\"…\"'",
       6},
      {"name=\"open", "is not a TOML value", 6},
      {"name=[1", "is not a TOML value", 6},
      {"seed=1\nname=2", "is not a TOML value", 6},
      {"=1", "'' is not a key", 1},
      {"", "'' is not a key", 1},
      {"+", "'' is not a key", 1},
      {"a..b=1", "'a..b' is not a key", 1},
      {".a=1", "'.a' is not a key", 1},
      {"a b=1", "'a b' is not a key", 1},
      {"include=[\"x\"]", "files are included before overrides apply", 1},
  }));
  CAPTURE(text);
  const Loaded loaded = load(kMinimal, {"seed=0", text});
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().size() == 1);
  const Diagnostic& d = loaded.out.all().front();
  CHECK_THAT(d.key + ": " + d.message, Contains(message));
  CHECK(d.source.file == "command line");
  CHECK(d.source.line == 2);
  CHECK(d.source.column == column);
}

TEST_CASE("elements that a list does not have are named") {
  CHECK_THAT(only(load(kFull, {"eval.2.k=1"}).out).message,
             Contains("no element '2': eval has the elements eval.0 … eval.1"));
  CHECK_THAT(only(load(kFull, {"eval.knn.k=1"}).out).message, Contains("no element 'knn'"));
  CHECK_THAT(only(load(kFull, {"+eval.3.k=1"}).out).message, Contains("no element '3'"));
  CHECK_THAT(only(load(kFull, {"~eval.2"}).out).message, Contains("no element '2'"));
  CHECK_THAT(only(load(kFull, {"~eval.0", "~eval.1"}).out).message,
             Contains("eval has one element, eval.0"));
  CHECK_THAT(only(load(kFull, {"+eval.0={}"}).out).message, Contains("is set already"));
  CHECK_THAT(only(load(kFull, {"eval.99999999999999999999.k=1"}).out).message,
             Contains("no element"));
}

TEST_CASE("the override is shown with a caret") {
  const Loaded loaded = load(kMinimal, {"seed=1", "train.epochs=0"});
  CHECK(
      loaded.out.text() ==
      "command line:2:14: error: train.epochs: expected an integer in 1 … 1000000 (epochs), got 0\n"
      "    2 | train.epochs=0\n"
      "      |              ^\n");
}

TEST_CASE("mistakes of overrides and of the file are reported together") {
  const Loaded loaded = load(kMinimal + "bach = 1\n", {"nothing.at=all", "train.epochs=0"});
  CHECK(loaded.out.error_count() == 3);
}

TEST_CASE("a date is no string, not even on the command line") {
  const Loaded loaded = load(kMinimal, {"name=1979-05-27"});
  CHECK_THAT(only(loaded.out).message, Contains("date"));
}

TEST_CASE("a relative path on the command line is the shell's") {
  const Loaded loaded = load(kFull, {"data.root=images"});
  CHECK(loaded.recipe.text("data.root") == (std::filesystem::current_path() / "images").string());
}
