// Opens the data of a recipe; what they cannot be used for is refused where the recipe says it.
#pragma once

#include "data/sample_set.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"

#include <string>

namespace gh::host {

// A split as it lies there, and "train" thinned as the recipe wants it. Throws RecipeRefused where
// targets or long tail are wrong, otherwise gh::Error naming the component.
SampleSet open_samples(const Recipe& recipe, const TrainPlan& plan, const Made<Dataset>& dataset,
                       const std::string& split, bool skip_unreadable, const Say& say);

}  // namespace gh::host
