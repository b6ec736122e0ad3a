// How fast this machine is: a run is started, watched for a few seconds and stopped.
#pragma once

#include "recipe/recipe.hpp"
#include "study/cost.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

struct Trial {
  std::filesystem::path program;          // ghhost
  std::vector<std::string> plugins;       // as --plugin takes them
  std::vector<std::string> plugin_rules;  // --locked, --pass-over
  double seconds = 4;                     // of training that are watched
  double patience = 120;                  // seconds until training must have begun
};

// With GH from the first step where its recipe allows that, so that its share is seen. In a
// directory of its own that is removed. `why` says what went wrong where nothing comes back. Throws
// gh::Error (io) where no directory or process can be made.
std::optional<Cost> measure(const Recipe& recipe, const Trial& trial, std::string& why);

}  // namespace gh::host
