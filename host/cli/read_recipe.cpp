#include "cli/read_recipe.hpp"

#include "run/standard_streams.hpp"
#include "study/scale.hpp"

#include "gh/error.hpp"

#include <filesystem>

namespace gh::host {

void RecipeArguments::declare(Options& options, const char* what) {
  options.required("RECIPE", file, what);
  options.rest("OVERRIDE", overrides, kOverrideHelp);
  options.text("--scale", "SCALE", scale, kScaleHelp);
  options.flag("--json", json, "Print the outcome as JSON");
}

Recipe load_recipe_at_scale(const std::string& file, const std::vector<std::string>& overrides,
                            const std::string& scale, Registry& registry, Diagnostics& out) {
  if (scale.empty()) return load_recipe(file, overrides, registry, out);
  std::vector<Difference> keys;
  Recipe recipe = load_scaled_recipe(file, overrides, registry, find_scale(scale, {}), out, keys);
  if (!out.has_errors()) print_message("Scaled ({}):\n{}", scale, to_text(keys));
  return recipe;
}

std::optional<Recipe> read_recipe(const std::string& file,
                                  const std::vector<std::string>& overrides, Registry& registry,
                                  const std::string& scale) {
  Diagnostics diagnostics;
  Recipe recipe = load_recipe_at_scale(file, overrides, scale, registry, diagnostics);
  print_message("{}", diagnostics.text());
  if (diagnostics.has_errors()) return std::nullopt;
  return recipe;
}

std::string recipe_file_of(const std::string& run) {
  const std::filesystem::path file = std::filesystem::path(run) / "recipe.toml";
  require(std::filesystem::exists(file), ErrorCode::missing_data, file.string(),
          " is not there: ", run, " is no run directory");
  return file.string();
}

Recipe recipe_of_run(const std::string& run, Registry& registry) {
  Diagnostics diagnostics;
  Recipe recipe = load_recipe(recipe_file_of(run), {}, registry, diagnostics);
  require(!diagnostics.has_errors(), ErrorCode::invalid_param, "the recipe in ", run,
          " does not fit these plugins any more:\n", diagnostics.text());
  return recipe;
}

}  // namespace gh::host
