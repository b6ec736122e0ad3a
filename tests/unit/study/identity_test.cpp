#include "study/identity.hpp"

#include "study_fixture.hpp"

namespace {

using namespace gh::host;
using namespace gh::host::test;

PluginVersion plugin_of(gh_kind, const std::string& id) { return {id, "1.0", "abc"}; }

struct Ids {
  Studies s;

  Recipe recipe(const std::string& overrides = "", const std::string& base = "gh.toml") {
    return s.rows("[base]\nrecipe = \"" + base + "\"\noverrides = [" + overrides + "]\n")[0].recipe;
  }
  std::string of(const std::string& overrides = "") { return id(recipe(overrides), "data"); }
  static std::string id(const Recipe& r, const std::string& data,
                        const PluginOf& plugins = plugin_of, Builds builds = Builds::by_version) {
    return run_id(identity_text(r, data, plugins, builds), r.integer("seed"));
  }
};

TEST_CASE("a run is another by any key that changes a number, and by its seed") {
  Ids ids;
  const std::string id = ids.of();
  CHECK(id.size() == 16);
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(ids.of() == id);
  for (const char* key :
       {"'train.batch=11'", "'harmonize.weight=2.0'", "'data.samples=101'", "'seed=1'",
        "'method={id=\"barlow\"}'", "'eval.0.k=5'", "'~harmonize'", "'train.epochs=101'"}) {
    INFO(key);
    CHECK(ids.of(key) != id);
  }
}

TEST_CASE("names, threads and what may change on the way make no other run") {
  Ids ids;
  const std::string id = ids.of();
  for (const char* key : {"'name=\"another\"'", "'loader.threads=3'", "'loader.on_error=\"skip\"'",
                          "'train.threads=3'", "'checkpoint.keep=7'"}) {
    INFO(key);
    CHECK(ids.of(key) == id);
  }
}

TEST_CASE("a default that is written makes no other run") {
  Ids ids;
  CHECK(ids.of("'+harmonize.ramp=0'") != ids.of("'harmonize.ramp=1'"));
  CHECK(ids.of("'method.temperature=0.2'") == ids.of());
}

TEST_CASE("data and plugin versions make a run another, builds only where they are to") {
  Ids ids;
  const Recipe r = ids.recipe();
  const std::string id = Ids::id(r, "data");
  CHECK(Ids::id(r, "other data") != id);
  const auto plugins = [](const char* version, const char* sha) {
    return [=](gh_kind, const std::string& name) -> PluginVersion { return {name, version, sha}; };
  };
  CHECK(Ids::id(r, "data", plugins("1.0", "abc")) == id);
  CHECK(Ids::id(r, "data", plugins("1.1", "abc")) != id);
  CHECK(Ids::id(r, "data", plugins("1.0", "def")) == id);
  CHECK(Ids::id(r, "data", plugins("1.0", "def"), Builds::strict) !=
        Ids::id(r, "data", plugins("1.0", "abc"), Builds::strict));
}

TEST_CASE("a seed is the number it is, and what stands before it is not part of it") {
  CHECK(run_id("a", 1) != run_id("a", 10));
  CHECK(run_id("a", 1) != run_id("a1", 1));
}

TEST_CASE("a beginning is what acts until its end, whoever goes on from it") {
  Ids ids;
  const auto until = [&](const std::string& overrides, int64_t epochs) {
    return identity_text_until(ids.recipe(overrides), epochs, "data", plugin_of,
                               Builds::by_version);
  };
  const std::string text = until("", 50);
  CHECK(until("'harmonize.weight=2.0'", 50) == text);
  CHECK(until("'eval=[{id=\"probe\", when=[\"end\"]}]'", 50) == text);
  CHECK(until("'name=\"x\"', 'train.threads=3'", 50) == text);
  CHECK(until("'harmonize.weight=2.0'", 51) != until("", 51));
  CHECK(until("", 49) != text);
  CHECK(until("'train.batch=5'", 50) != text);
  CHECK(until("'seed=1'", 50) == text);  // it is added by run_id()
}

}  // namespace
