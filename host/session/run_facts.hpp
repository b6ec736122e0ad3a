// What components are told of a run before anything is built.
#pragma once

#include "data/sample_set.hpp"
#include "plan/plan.hpp"

#include "gh/host.hpp"

namespace gh::host {

// Class counts only with `labels`: for a method that may see them.
enum class Labels { shown, hidden };
RunFacts facts_of(const TrainPlan& plan, const SampleSet& data, int64_t rank, Labels labels);

}  // namespace gh::host
