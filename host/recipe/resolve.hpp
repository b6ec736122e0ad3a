// From a merged recipe to a resolved one. Used inside this room only.
#pragma once

#include "recipe/recipe.hpp"

namespace gh::host {

// Checks `raw` against the layout and the schemas of the components it names, and fills in
// recipe.resolved and recipe.slots.
void resolve(const Table& raw, Catalog& catalog, Recipe& recipe, Diagnostics& out);

}  // namespace gh::host
