// A table whose id changes starts empty, whoever changes it, and what is lost is said.
#include "recipe_fixture.hpp"

using namespace gh::host;
using namespace gh::host::test;
using Catch::Contains;

namespace {

// The resolved value as TOML, "" for absent.
std::string at(const Loaded& loaded, const std::string& path) {
  const Value* found = loaded.recipe.find(path);
  return found ? to_toml_value(*found) : "";
}

const Diagnostic& warning(const Loaded& loaded) {
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().size() == 1);
  REQUIRE(loaded.out.all().front().level == Diagnostic::Level::warning);
  return loaded.out.all().front();
}

// kFull, included by a recipe of this text.
Loaded load_above_full(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TempDir dir;
  dir.write("base.toml", kFull);
  return load_file(dir.write("top.toml", "include = [\"base.toml\"]\n" + text), overrides);
}

}  // namespace

TEST_CASE("an including recipe that changes an id gets none of the old component's keys") {
  // Both have `temperature`; the value was chosen for the other.
  const Loaded loaded = load_above_full("[method]\nid = \"warm\"\n");
  CHECK(at(loaded, "method.temperature") == "0.7");
  const Diagnostic& said = warning(loaded);
  CHECK(said.key == "method");
  CHECK(said.source.line == 3);
  CHECK(said.source.column == 6);
  CHECK_THAT(said.message, Contains("is 'warm' now") && Contains("'simclr' is dropped") &&
                               Contains("temperature (") && Contains("base.toml:20)") &&
                               Contains("projector ("));
}

TEST_CASE("keys beside the new id, and keys of a component that stays, are kept") {
  const Loaded changed = load_above_full("[method]\nid = \"warm\"\ntemperature = 3\n");
  CHECK(at(changed, "method.temperature") == "3.0");
  // What is written anew is not worth a word.
  CHECK_THAT(warning(changed).message, Contains("dropped: projector") && !Contains("temperature"));
  const Loaded same = load_above_full("[method]\nid = \"simclr\"\n");
  INFO(summary(same.out));
  CHECK(same.out.all().empty());
  CHECK(at(same, "method.temperature") == "1.0");
  const Loaded unsaid = load_above_full("[method]\nprojector = { dim = 2 }\n");
  CHECK(unsaid.out.all().empty());
  CHECK(at(unsaid, "method.temperature") == "1.0");
}

TEST_CASE("the host's own keys of a component's table go with it") {
  const Loaded loaded = load_above_full("[data]\nid = \"other\"\n");
  CHECK(at(loaded, "data.longtail") == "");
  CHECK_THAT(warning(loaded).message, Contains("samples") && Contains("longtail"));
}

TEST_CASE("tables of the host that have an id follow the same rule") {
  const Loaded loaded = load_above_full("[train.optimizer]\nid = \"sgd\"\nlr = 1\n");
  INFO(summary(loaded.out));
  CHECK(loaded.out.all().empty());  // there was nothing but the id
  const Loaded twice =
      load_above_full("[train]\noptimizer = { lr = 9 }\n", {"train.optimizer.id=adamw"});
  CHECK(at(twice, "train.optimizer.lr") == "0.001");
  CHECK_THAT(warning(twice).message, Contains("lr ("));
}

TEST_CASE("a table without id has the default one") {
  const std::string tracked = "[harmonize.prior]\nrefresh = 3\n";
  CHECK(load_above_full(tracked + "id = \"tracked\"\n").out.all().empty());
  const Loaded loaded = load_above_full(tracked, {"harmonize.prior.id=uniform"});
  CHECK_THAT(warning(loaded).message,
             Contains("is 'uniform' now") && Contains("'tracked' is dropped: refresh"));
}

TEST_CASE("an override that changes an id drops what stood before it, and keeps what follows") {
  const Loaded loaded = load(kFull, {"method.id=warm"});
  CHECK(at(loaded, "method.temperature") == "0.7");
  const Diagnostic& said = warning(loaded);
  CHECK(said.source.file == "command line");
  CHECK_THAT(said.message, Contains("recipe.toml:20)"));
  const Loaded after = load(kFull, {"method.id=warm", "method.temperature=4"});
  CHECK(at(after, "method.temperature") == "4.0");
  const Loaded before = load(kFull, {"method.temperature=4", "method.id=warm"});
  CHECK(at(before, "method.temperature") == "0.7");
  CHECK_THAT(warning(before).message, Contains("temperature (command line:1)"));
  const Loaded evaluator = load(kFull, {"eval.1.id=other_knn"});
  CHECK(at(evaluator, "eval.1.k") == "5");
}

TEST_CASE("a recipe can do without a table of what it includes, or replace it as a whole") {
  const Loaded removed =
      load_above_full("without = [\"harmonize\", \"train.schedule\", \"eval\"]\n");
  INFO(summary(removed.out));
  CHECK(removed.out.all().empty());
  CHECK(at(removed, "harmonize") == "");
  CHECK(at(removed, "train.epochs") == "20");
  CHECK_FALSE(removed.recipe.find("without"));
  const Loaded replaced = load_above_full(
      "without = [\"method\"]\n[method]\nid = \"simclr\"\nprojector = { norm = false }\n");
  CHECK(replaced.out.all().empty());
  CHECK(at(replaced, "method.temperature") == "0.2");
  CHECK(at(replaced, "method.projector.dim") == "128");
}

TEST_CASE("what a recipe does without must be there") {
  const Diagnostic d = only(load_above_full("without = [\n  \"harmonise\",\n]\n").out);
  CHECK(d.source.line == 3);
  CHECK_THAT(d.message, Contains("no table or key 'harmonise'"));
  CHECK_THAT(only(load_above_full("without = \"eval\"\n").out).message,
             Contains("expected a list of strings, got a string"));
  CHECK_THAT(only(load(kMinimal, {"without=[\"eval\"]"}).out).message,
             Contains("files are included before overrides apply"));
}
