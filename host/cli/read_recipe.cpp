#include "cli/read_recipe.hpp"

#include "run/standard_streams.hpp"

#include "gh/error.hpp"

#include <filesystem>

namespace gh::host {

std::optional<Recipe> read_recipe(const std::string& file,
                                  const std::vector<std::string>& overrides, Registry& registry) {
  Diagnostics diagnostics;
  Recipe recipe = load_recipe(file, overrides, registry, diagnostics);
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
