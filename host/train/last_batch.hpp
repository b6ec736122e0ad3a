// What is left over when samples are shared out in batches.
#pragma once

#include "plan/plan.hpp"
#include "weights/safetensors.hpp"

#include <string>

namespace gh::host {

// Says, with what to do, that the last batch of an epoch over `samples` has one sample where the
// others have more; else empty.
std::string lone_last_sample(const TrainPlan& plan, int64_t samples);

// A network that takes batch statistics, which a batch of one does not have, would fail in the
// middle of a run. Others only learn nothing from it, where losses compare samples.
bool takes_batch_statistics(const TensorFile& state);

}  // namespace gh::host
