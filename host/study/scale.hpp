// Shrinks a recipe in proportion, so that what takes days shows within minutes whether it works.
// What counts epochs or acts once an epoch is known by the units that parameters declare
// (gh/params.hpp), so components of any plugin follow. Used by whoever takes --scale.
#pragma once

#include "recipe/difference.hpp"
#include "recipe/recipe.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

struct Scale {
  std::string name;                    // "small", "0.1"
  double epochs = 1;                   // part of the epochs that is trained
  double width = 1;                    // part of the network's channels
  std::vector<std::string> overrides;  // what else is made smaller, laid over all of that
};

// "small" is a 25th of the epochs in a network of a quarter of the width.
Scale small_scale();

// [scale.NAME] of a study file, each with epochs, width and overrides; what is left out is that of
// small_scale() for "small" and unchanged for others. Mistakes go to `out`.
std::vector<Scale> read_scales(const Value& tables, Diagnostics& out);

// A name among `named` or "small", or a part of the epochs, as in "0.1". Throws gh::Error
// (invalid_param) for anything else.
Scale find_scale(std::string_view text, const std::vector<Scale>& named);

struct Scaled {
  std::vector<std::string> overrides;  // on top of those that `recipe` was loaded with
  std::vector<Difference> keys;        // what became of which parameter
};

// With r the part of the epochs that is left once train.epochs is whole, at least 1:
//   "epochs"     v·r: integers are rounded, stay above 0 if they were, and below train.epochs
//   "steps"      v·r in the same way
//   "per epoch"  v^(1/r): after v·r epochs as much is forgotten as was after v
//   "channels"   v·width, rounded, at least 1
// Lists element by element. Where rounding would leave what the parameter allows, its bound.
Scaled scale_recipe(const Recipe& recipe, Catalog& catalog, const Scale& scale);

// A recipe at a scale, which `load` makes with further overrides: once without any, then with what
// scale_recipe() adds; `keys` are its.
using LoadWith = std::function<Recipe(const std::vector<std::string>& further, Diagnostics& out)>;
Recipe load_scaled(const LoadWith& load, Catalog& catalog, const Scale& scale, Diagnostics& out,
                   std::vector<Difference>& keys);

// load_recipe() at a scale.
Recipe load_scaled_recipe(const std::filesystem::path& file, std::vector<std::string> overrides,
                          Catalog& catalog, const Scale& scale, Diagnostics& out,
                          std::vector<Difference>& keys);

}  // namespace gh::host
