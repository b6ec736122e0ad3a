#include "recipe_fixture.hpp"

using namespace gh::host;
using namespace gh::host::test;
using Catch::Contains;

TEST_CASE("the including recipe wins, key by key") {
  const TempDir dir;
  dir.write("base.toml", kFull);
  const auto file = dir.write(
      "sub/top.toml",
      "include = [\"../base.toml\"]\nseed = 9\n[train]\nepochs = 40\n[data]\nroot = \"mine\"\n");
  const Loaded loaded = load_file(file);
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().empty());
  CHECK(loaded.recipe.integer("seed") == 9);
  CHECK(loaded.recipe.integer("train.epochs") == 40);
  CHECK(loaded.recipe.integer("train.batch") == 8);
  CHECK(loaded.recipe.text("name") == "all of it");
  // A path belongs to the file it was written in.
  CHECK(loaded.recipe.text("data.root") == (dir.path() / "sub/mine").string());
  CHECK_FALSE(loaded.recipe.find("include"));
}

TEST_CASE("paths of an included recipe are relative to it, and the name is the including file's") {
  const TempDir dir;
  dir.write("base/base.toml", kMinimal + "[[eval]]\nid = \"knn\"\n");
  dir.write("base/more.toml", "include = [\"base.toml\"]\n[data]\nroot = \"images\"\n");
  const Loaded loaded = load_file(dir.write("top.toml", "include = [\"base/more.toml\"]\n"));
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().empty());
  CHECK(loaded.recipe.text("data.root") == (dir.path() / "base/images").string());
  CHECK(loaded.recipe.text("name") == "top");
  CHECK(loaded.recipe.evals().size() == 1);
}

TEST_CASE("later includes win over earlier ones, and lists are replaced whole") {
  const TempDir dir;
  dir.write("a.toml", kMinimal + "[[eval]]\nid = \"knn\"\nk = 1\n[[eval]]\nid = \"knn\"\nk = 2\n");
  dir.write("b.toml", "seed = 3\n[[eval]]\nid = \"knn\"\nk = 3\n");
  const Loaded loaded = load_file(dir.write("top.toml", "include = [\"a.toml\", \"b.toml\"]\n"));
  REQUIRE(loaded.out.all().empty());
  CHECK(loaded.recipe.integer("seed") == 3);
  REQUIRE(loaded.recipe.evals().size() == 1);
  CHECK(loaded.recipe.integer("eval.0.k") == 3);
}

TEST_CASE("two recipes may include the same third") {
  const TempDir dir;
  dir.write("base.toml", kMinimal);
  dir.write("a.toml", "include = [\"base.toml\"]\nseed = 1\n");
  dir.write("b.toml", "include = [\"base.toml\"]\n");
  CHECK(load_file(dir.write("top.toml", "include = [\"a.toml\", \"b.toml\"]\n")).out.all().empty());
}

TEST_CASE("a cycle is an error that shows the circle") {
  const TempDir dir;
  dir.write("b.toml", "include = [\"./sub/../a.toml\"]\n");
  const auto a = dir.write("a.toml", "include = [\"b.toml\"]\n");
  std::filesystem::create_directory(dir.path() / "sub");
  const Loaded loaded = load_file(a);
  const Diagnostic d = only(loaded.out);
  CHECK(d.source.file == (dir.path() / "b.toml").string());
  CHECK(d.source.line == 1);
  CHECK(d.source.column == 12);
  CHECK_THAT(d.message, Contains("cycle: ") && Contains("a.toml → ") && Contains("b.toml → "));
  CHECK_THAT(only(load_file(dir.write("self.toml", "include = [\"self.toml\"]\n")).out).message,
             Contains("cycle"));
}

TEST_CASE("an include that cannot be had is an error where it is asked for") {
  const TempDir dir;
  dir.write("base.toml", kMinimal);
  dir.write("broken.toml", "x = \n");
  std::filesystem::create_directory(dir.path() / "folder.toml");
  const Loaded loaded = load_file(dir.write(
      "top.toml",
      "include = [\n  \"bsae.toml\",\n  \"folder.toml\",\n  \"broken.toml\",\n  5,\n  \"\",\n]\n"));
  const std::string text = summary(loaded.out);
  INFO(text);
  CHECK_THAT(text,
             Contains("2:3 include: ") && Contains("no such file; did you mean 'base.toml'?"));
  CHECK_THAT(text, Contains("3:3 include: ") && Contains("is a directory"));
  CHECK_THAT(text, Contains("1:5 : not valid TOML"));  // in broken.toml
  CHECK_THAT(text, Contains("5:3 include: expected the path of a recipe, got an integer"));
  CHECK_THAT(text, Contains("6:3 include: expected the path of a recipe, got the string \"\""));
  CHECK(loaded.out.all().size() == 5);
}

TEST_CASE("include takes a list, at the root only") {
  CHECK_THAT(only(load("include = \"base.toml\"\n").out).message,
             Contains("expected a list of strings, got a string"));
  CHECK_THAT(summary(load(kMinimal + "include = [\"x\"]\n").out),
             Contains("train.include: unknown key of [train]"));
}

TEST_CASE("a mistake in an included recipe names that file") {
  const TempDir dir;
  const auto base = dir.write("base.toml", kMinimal);
  const Loaded loaded =
      load_file(dir.write("top.toml",
                          "include = [\"base.toml\"]\n[method]\nid = \"barlow\"\ntemperature = "
                          "1\n[train]\nbach = 1\n[backbone]\nstem = 5\n"));
  CHECK(loaded.out.error_count() == 3);
  dir.write("base.toml", kMinimal + "bach = 1\n");
  const Loaded from_base =
      load_file(dir.write("top.toml", "include = [\"base.toml\"]\nseed = 1\n"));
  const Diagnostic d = only(from_base.out);
  CHECK(d.source.file == base.string());
  CHECK(d.source.line == 11);
  CHECK_THAT(from_base.out.text(), Contains("   11 | bach = 1\n      | ^\n"));
}

TEST_CASE("recipes that include each other over and over end") {
  const TempDir dir;
  for (int i = 0; i < 40; ++i) {
    const std::string next = std::to_string(i + 1) + ".toml";
    dir.write(std::to_string(i) + ".toml", "include = [\"" + next + "\", \"" + next + "\"]\n");
  }
  dir.write("40.toml", kMinimal);
  CHECK_THAT(only(load_file(dir.path() / "0.toml").out).message, Contains("more than 100 files"));
}
