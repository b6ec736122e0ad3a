// Whether a recipe is still that of a run: asked before going on with it, and before evaluating it.
#pragma once

#include "data/sample_set.hpp"
#include "plugins/registry.hpp"
#include "recipe/difference.hpp"
#include "recipe/recipe.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gh::host {

struct Assembly;

// The recipe that `run` was started with. Throws gh::Error (invalid_param) where these plugins do
// not take it.
Recipe recorded_recipe(const std::filesystem::path& run, Registry& registry);

// What would go on.
struct Continuation {
  const Recipe& recipe;
  Registry& registry;
  const SampleSet& train;
  int64_t world = 1;
  std::string device;
};

Continuation continuation_of(const Assembly& run);

// Throws gh::Error (invalid_param) when recipe or data are others than `run` was started with;
// warns of another machine, version or plugin build.
void require_same_run(const std::filesystem::path& run, const Continuation& now,
                      const std::function<void(const std::string&)>& warn);

// What numbers depend on besides the recipe, for a run that begins with what another one trained:
// likewise, and throws for a plugin of both that has another name or version.
void require_same_ground(const std::filesystem::path& run, const Continuation& now,
                         const std::function<void(const std::string&)>& warn);

// What `recipe` has otherwise than `run` was trained with, all of it without influence on the
// weights. Throws gh::Error (invalid_param) naming what is not.
std::vector<Difference> changes_since(const std::filesystem::path& run, const Recipe& recipe,
                                      Registry& registry);

// By its status.json.
bool is_finished(const std::filesystem::path& run);

}  // namespace gh::host
