// A recipe with its data at hand, for commands that look at data before training.
#pragma once

#include "cli/command.hpp"
#include "data/sample_set.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"
#include "recipe/recipe.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gh::host {

// What data sets say while they are opened.
using Notes = std::vector<std::string>;

struct OpenRecipe {
  Recipe recipe;
  TrainPlan plan;
  Made<Dataset> dataset;

  SampleSet split(const std::string& name, bool skip_unreadable, Notes& notes) const;
};

// What both commands take first.
void declare_recipe(Options& options, std::string& recipe, std::vector<std::string>& overrides);

// Nothing, once what is wrong with the recipe has been printed.
std::optional<OpenRecipe> open_recipe(const std::string& file,
                                      const std::vector<std::string>& overrides,
                                      Registry& registry);

}  // namespace gh::host
