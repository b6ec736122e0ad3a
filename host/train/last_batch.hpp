// What is left over when samples are shared out in batches.
#pragma once

#include "recipe/diagnostics.hpp"
#include "recipe/recipe.hpp"
#include "train/plan.hpp"

#include <string>

namespace gh::host {

// Batch statistics, and losses that compare samples, need two of them. Says so, with what to do, if
// the last batch of an epoch over `samples` has one where the others have more; else empty. `norm`
// over the samples of all ranks, or of each.
enum class Norm { of_all_ranks, of_each_rank };
std::string lone_last_sample(const TrainPlan& plan, Norm norm, int64_t samples);
Norm norm_of(const Recipe& recipe);

// The same as an error at train.batch.
void check_last_batch(const Recipe& recipe, const TrainPlan& plan, int64_t samples,
                      Diagnostics& out);

}  // namespace gh::host
