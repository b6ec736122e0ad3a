#include "plan/open_data.hpp"

#include "data/targets.hpp"
#include "plan/refusals.hpp"

#include <optional>

namespace gh::host {

SampleSet open_samples(const Recipe& recipe, const TrainPlan& plan, const Made<Dataset>& dataset,
                       const std::string& split, bool skip_unreadable, const Say& say) {
  std::optional<DataRefused> refused;
  std::optional<SampleSet> opened = call_component(dataset.name, "open", [&] {
    std::optional<SampleSet> out;
    try {
      out = SampleSet::open(*dataset, split, plan.seed,
                            split == "train" ? plan.long_tail : std::nullopt, skip_unreadable, say);
    } catch (const DataRefused& why) {
      refused = why;
    }
    return out;
  });
  if (opened) return std::move(*opened);
  throw RecipeRefused(recipe, refused->key(), refused->what());
}

}  // namespace gh::host
