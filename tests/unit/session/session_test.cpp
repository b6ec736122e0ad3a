// Whole runs of the toy, in this process.
#include "session/session.hpp"

#include "plan/refusals.hpp"
#include "support/places.hpp"
#include "support/plugin_fixture.hpp"
#include "support/temporary_directory.hpp"
#include "weights/safetensors.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace {

using namespace gh;
using namespace gh::host;
using gh::test::bundled_plugins;

Recipe toy(std::vector<std::string> changes) {
  for (const char* change : {"train.epochs=3", "train.batch=64", "harmonize.warm_up=1",
                             "checkpoint.every=1", "checkpoint.keep=9"})
    changes.insert(changes.begin(), change);
  Diagnostics problems;
  Recipe recipe = load_recipe(gh::test::source_dir() / "recipes/toy.toml", changes,
                              bundled_plugins(), problems);
  INFO(problems.text());
  REQUIRE_FALSE(problems.has_errors());
  return recipe;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a run leaves its recipe, its numbers and its checkpoints, and no report") {
  const gh::test::TemporaryDirectory folder;
  const auto path = folder / "run";
  const Recipe recipe = toy({});
  const RunOutcome outcome = run_recipe(recipe, bundled_plugins(), {.out = path, .command = {}});
  CHECK(outcome.directory == path);
  CHECK_FALSE(outcome.interrupted);
  CHECK(outcome.failed.empty());
  CHECK(outcome.first);
  const std::string metrics = text_of(path / "metrics.jsonl");
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 3);
  for (const char* file : {"recipe.toml", "environment.json", "data.json", "status.json"})
    CHECK(std::filesystem::exists(path / file));
  CHECK_FALSE(std::filesystem::exists(path / "report.html"));

  SECTION("it is finished: nothing is done again") {
    const RunOutcome again =
        run_recipe(recipe, bundled_plugins(), {.out = path, .resume = true, .command = {}});
    CHECK(again.directory == path);
    CHECK(text_of(path / "metrics.jsonl") == metrics);
  }
  SECTION("another recipe does not go on with it") {
    CHECK_THROWS_WITH(run_recipe(toy({"harmonize.weight=2.0"}), bundled_plugins(),
                                 {.out = path, .resume = true, .command = {}}),
                      Catch::Contains("harmonize.weight"));
  }
  SECTION("its encoder is a file of its own, and can be evaluated again") {
    const std::string told =
        export_run(recipe, bundled_plugins(), path, Which::newest, folder / "encoder.safetensors");
    CHECK_THAT(told, Catch::Contains("of mlp after 3 epochs"));
    const TensorFile file = read_safetensors(folder / "encoder.safetensors");
    CHECK(file.metadata.at("ghhost.backbone") == "mlp");
    CHECK(file.metadata.at("ghhost.epochs") == "3");
    const RunOutcome seen = evaluate_run(recipe, bundled_plugins(),
                                         {.run = path, .weights = {}, .out = {}, .command = {}});
    CHECK(seen.failed.empty());
    CHECK_THROWS_WITH(export_run(recipe, bundled_plugins(), path, Which::best, folder / "best"),
                      Catch::Contains("no best checkpoint"));
  }
  SECTION("no step of it failed") {
    CHECK_THROWS_WITH(replay_run(recipe, bundled_plugins(), path),
                      Catch::Contains("no step that failed"));
  }
}

TEST_CASE("a run whose numbers stop being finite says where, and its step can be made again") {
  const gh::test::TemporaryDirectory folder;
  const auto path = folder / "run";
  const Recipe recipe = toy({"train.optimizer.lr=1e30"});
  CHECK_THROWS_WITH(run_recipe(recipe, bundled_plugins(), {.out = path, .command = {}}),
                    Catch::Contains("ghhost replay"));
  CHECK_THAT(text_of(path / "status.json"), Catch::Contains("failed"));
  const ReplayOutcome replayed = replay_run(recipe, bundled_plugins(), path);
  INFO(replayed.text);
  CHECK(replayed.same);
}

TEST_CASE("what cannot be run is refused with its key, before anything is written") {
  const gh::test::TemporaryDirectory folder;
  const auto path = folder / "run";
  const Recipe nobody_reports = toy({"checkpoint.best=1", "checkpoint.metric=\"nobody\""});
  std::string key;
  try {
    run_recipe(nobody_reports, bundled_plugins(), {.out = path, .command = {}});
  } catch (const RecipeRefused& refused) {
    key = refused.diagnostics().all().front().key;
  }
  CHECK(key == "checkpoint.metric");
  CHECK_FALSE(std::filesystem::exists(path));
  check_with_data(toy({}), bundled_plugins());
}

}  // namespace
