// Recipes as commands get at them: from a file, or from a run's directory.
#pragma once

#include "cli/command.hpp"
#include "plugins/registry.hpp"
#include "recipe/recipe.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gh::host {

inline constexpr const char* kOverrideHelp =
    "Changes: a.b=value sets, +a.b=value adds, ~a.b removes; values are TOML";

// What --scale takes.
inline constexpr const char* kScaleHelp =
    "Shrink in proportion: \"small\", or a part of the epochs such as 0.1; warm-up, periods, "
    "momenta and whatever else counts epochs follow";

// What `ghhost run` and `ghhost check` take first.
struct RecipeArguments {
  std::string file, scale;
  std::vector<std::string> overrides;
  bool json = false;

  // `what`: what kind of file the first argument is.
  void declare(Options& options, const char* what = "Recipe file");
};

// A recipe, scaled where `scale` is not empty (study/scale.hpp); prints what was scaled.
Recipe load_recipe_at_scale(const std::string& file, const std::vector<std::string>& overrides,
                            const std::string& scale, Registry& registry, Diagnostics& out);

// Prints what is wrong or doubtful; nothing comes back of a recipe with errors.
std::optional<Recipe> read_recipe(const std::string& file,
                                  const std::vector<std::string>& overrides, Registry& registry,
                                  const std::string& scale = {});

// The recipe's file in a run directory. Throws gh::Error (missing_data) where `run` is none.
std::string recipe_file_of(const std::string& run);

// The recipe a run was made by. Throws also where plugins do not fit it any more.
Recipe recipe_of_run(const std::string& run, Registry& registry);

}  // namespace gh::host
