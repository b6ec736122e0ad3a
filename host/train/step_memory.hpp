// What a training step will certainly need of the machine's memory, compared with what there is
// before training begins. Only what is known is counted; activations are not, so a run that passes
// may still find too little.
#pragma once

#include "optimize/optimizer.hpp"
#include "plan/plan.hpp"

#include "gh/host.hpp"

#include <cstdint>
#include <span>

namespace gh::host {

// What a step needs besides the networks, bytes.
struct StepMemory {
  double parameters = 0;  // those that are trained
  int64_t moments = 0;    // that the optimiser keeps of each parameter
  double batches = 0;     // views that the loader holds
};

// Of a stage with `samples` samples.
StepMemory memory_of_step(const TrainPlan& plan, const RunFacts& facts, int64_t samples,
                          std::span<const OptimizedParameter> parameters);

// Throws PlanRefused, naming the key to lower, when gradients, moments and batches alone are more
// than `available`.
void require_memory(const StepMemory& step, int64_t available);

}  // namespace gh::host
