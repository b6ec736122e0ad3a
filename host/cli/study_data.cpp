#include "cli/study_data.hpp"

#include "data/long_tail.hpp"
#include "data/sample_set.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"
#include "plugins/component_call.hpp"

#include "gh/error.hpp"

#include <algorithm>

namespace gh::host {
namespace {

constexpr uint64_t kSeed = 0;

}  // namespace

DataFact read_data_fact(const Recipe& recipe, Registry& registry) {
  const TrainPlan plan = read_plan(recipe);
  const Made<Dataset> dataset = make_dataset(recipe, registry);
  DataFact fact;
  for (const std::string& name : dataset.call("splits", &Dataset::splits)) {
    try {
      const std::unique_ptr<Split> split = call_component(dataset.name, "open", [&] {
        return open_split(*dataset, name, kSeed, plan.loader.skip_unreadable, {});
      });
      fact.fingerprint += name + " " + split->fingerprint() + "\n";
      if (name != "train") continue;
      fact.samples =
          plan.long_tail ? thin(split->targets(), *plan.long_tail).size(0) : split->size();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::missing_data || name == "train") throw;
      fact.fingerprint += name + " none\n";
    }
  }
  return fact;
}

PluginOf plugins_of(const Registry& registry) {
  return [&registry](gh_kind kind, const std::string& id) -> PluginVersion {
    for (const LoadedPlugin& plugin : registry.loaded())
      for (const ComponentInfo& component : plugin.components)
        if (component.kind == kind && component.id == id)
          return {plugin.note.name, plugin.note.version, plugin.sha256};
    fail(ErrorCode::internal, "no plugin with ", kind_name(kind), " '", id, "' has been loaded");
  };
}

}  // namespace gh::host
