#include "plan/plan.hpp"

#include "plan/refusals.hpp"

namespace gh::host {

void check_views(const Recipe& recipe, const TrainPlan& plan, const SampleSet& set,
                 Diagnostics& out) {
  for (std::size_t i = 0; i < plan.views.groups.size(); ++i) {
    const bool for_pictures = plan.views.groups[i].size > 0;
    if (for_pictures == set.pictures()) continue;
    add_error(recipe, "views.group." + std::to_string(i) + (for_pictures ? ".size" : ""),
              set.pictures()
                  ? "the data are pictures, so views need a size; name a preset, such as "
                    "views.preset = \"simclr-32\""
                  : "the data are vectors, whose views have nothing but noise",
              out);
  }
}

// A short last batch is cut to a multiple of the ranks, as the loader does.
int64_t TrainPlan::calls_per_epoch(int64_t samples) const {
  if (drop_last) return samples / batch * accumulate;
  const int64_t one_call = batch / accumulate;
  return samples / one_call + (samples % one_call >= world ? 1 : 0);
}

int64_t TrainPlan::steps_per_epoch(int64_t samples) const {
  return (calls_per_epoch(samples) + accumulate - 1) / accumulate;
}

Schedule TrainPlan::schedule_for(int64_t stage_epochs) const {
  Schedule out = schedule;
  out.epochs = stage_epochs;
  return out;
}

}  // namespace gh::host
