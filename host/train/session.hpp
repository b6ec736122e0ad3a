// A whole run: components from a resolved recipe, data, checks, training, evaluations, report.
#pragma once

#include "plugins/registry.hpp"
#include "recipe/recipe.hpp"
#include "train/console.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace gh::host {

struct RunOptions {
  std::filesystem::path out;         // empty: runs/<name>-NNN
  std::vector<std::string> command;  // as typed, for the record
};

struct RunOutcome {
  std::filesystem::path directory;
  bool interrupted = false;
};

// Throws RecipeRefused when components cannot work together, gh::Error otherwise. From the moment
// the run directory exists, whatever is thrown has been written into it first.
RunOutcome run_recipe(const Recipe& recipe, Registry& registry, const RunOptions& options,
                      Console& console);

}  // namespace gh::host
