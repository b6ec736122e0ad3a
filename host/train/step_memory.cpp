#include "train/step_memory.hpp"

#include "machine/memory.hpp"
#include "plan/refusals.hpp"

#include <c10/util/accumulate.h>

#include <fmt/format.h>

#include <algorithm>

namespace gh::host {

StepMemory memory_of_step(const TrainPlan& plan, const RunFacts& facts, int64_t samples,
                          std::span<const OptimizedParameter> parameters) {
  StepMemory out{.moments = plan.optimizer.moments()};
  for (const OptimizedParameter& p : parameters)
    out.parameters += static_cast<double>(p.tensor.nbytes());
  const int64_t rows = std::min(plan.batch / plan.accumulate, samples) / plan.world;
  double sample = 0;
  for (const std::vector<int64_t>& shape : facts.view_shapes)
    sample += static_cast<double>(c10::multiply_integers(shape));
  out.batches = sample * static_cast<double>(rows * (plan.loader.prefetch + 1)) *
                static_cast<double>(c10::elementSize(plan.dtype));
  return out;
}

void require_memory(const StepMemory& step, int64_t available) {
  const double learning = step.parameters * static_cast<double>(1 + step.moments);
  if (learning + step.batches <= static_cast<double>(available)) return;
  throw PlanRefused(
      learning > step.batches ? "backbone" : "train.batch",
      fmt::format("a step needs at least {} besides the networks: {} for the gradient and {} "
                  "moments of {} of parameters, {} for batches, activations not counted; {} of "
                  "memory are available",
                  in_gigabytes(learning + step.batches), in_gigabytes(learning), step.moments,
                  in_gigabytes(step.parameters), in_gigabytes(step.batches),
                  in_gigabytes(static_cast<double>(available))));
}

}  // namespace gh::host
