#include "train/last_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gh::host {

std::string lone_last_sample(const TrainPlan& plan, int64_t samples) {
  if (plan.drop_last) return {};
  const int64_t whole = plan.batch / plan.accumulate;
  const int64_t left = samples % whole / plan.world;  // samples of each rank
  const int64_t together = plan.norm == Norm::of_all_ranks ? plan.world : 1;
  if (left * together != 1 || whole / plan.world * together == 1) return {};
  std::string out = fmt::format("{} samples in batches of {}", samples, plan.batch);
  if (plan.accumulate > 1) out += fmt::format(", each in {} parts,", plan.accumulate);
  if (plan.world > 1)
    out += fmt::format(" on {} ranks whose statistics are their own (ranks.sync_norm)", plan.world);
  return out +
         " leave one sample for the last batch of an epoch; set train.drop_last = true, or another "
         "train.batch";
}

bool takes_batch_statistics(const TensorFile& state) {
  return std::any_of(state.tensors.begin(), state.tensors.end(),
                     [](const auto& named) { return named.first.ends_with("running_var"); });
}

}  // namespace gh::host
