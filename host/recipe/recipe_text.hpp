// Recipes that come as text, such as a checkpoint carries.
#pragma once

#include "recipe/recipe.hpp"

#include <string>
#include <string_view>

namespace gh::host {

// As load_recipe(), without includes and overrides; `origin` names the text in messages.
Recipe load_recipe_text(std::string_view toml, const std::string& origin, Catalog& catalog,
                        Diagnostics& out);

}  // namespace gh::host
