#include "plan/refusals.hpp"

namespace gh::host {
namespace {

Diagnostics one_error(const Recipe& recipe, const std::string& key, std::string message) {
  Diagnostics out;
  add_error(recipe, key, std::move(message), out);
  return out;
}

}  // namespace

RecipeRefused::RecipeRefused(Diagnostics diagnostics)
    : std::runtime_error("the recipe cannot be run:\n" + diagnostics.text()),
      diagnostics_(std::move(diagnostics)) {}

RecipeRefused::RecipeRefused(const Recipe& recipe, const std::string& key, std::string message)
    : RecipeRefused(one_error(recipe, key, std::move(message))) {}

void add_error(const Recipe& recipe, const std::string& key, std::string message,
               Diagnostics& out) {
  Source source = locate(recipe.resolved, key);
  if (source.line < 1) source.file = recipe.file.string();
  out.error(std::move(source), key, std::move(message));
}

}  // namespace gh::host
