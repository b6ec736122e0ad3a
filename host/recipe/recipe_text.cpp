#include "recipe/recipe_text.hpp"

#include "recipe/resolve.hpp"
#include "recipe/toml.hpp"

#include <optional>

namespace gh::host {

Recipe load_recipe_text(std::string_view toml, const std::string& origin, Catalog& catalog,
                        Diagnostics& out) {
  Recipe recipe;
  recipe.file = origin;
  std::optional<Table> raw = parse_toml(toml, origin, out);
  if (!raw) return recipe;
  if (!raw->find("name")) raw->set("name", {recipe.file.stem().string(), {}});
  resolve(*raw, catalog, recipe, out);
  return recipe;
}

}  // namespace gh::host
