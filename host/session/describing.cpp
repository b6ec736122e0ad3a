#include "session/describing.hpp"

#include "data/known_sets.hpp"
#include "recipe/toml.hpp"
#include "run/environment.hpp"
#include "session/assembly.hpp"
#include "session/recipe_json.hpp"

#include "gh/ops/convolution.hpp"

#include <ATen/Parallel.h>

#include <fmt/format.h>

namespace gh::host {
namespace {

std::vector<int64_t> as_list(const at::Tensor& numbers) {
  return {numbers.data_ptr<int64_t>(), numbers.data_ptr<int64_t>() + numbers.numel()};
}

nlohmann::ordered_json describe_data(const SampleSet& data) {
  nlohmann::ordered_json out = {
      {"split", data.name()}, {"fingerprint", data.fingerprint()}, {"samples", data.size()}};
  if (const at::Tensor counts = data.class_counts(); counts.defined()) {
    out["class_names"] = data.class_names();
    out["class_counts"] = as_list(counts);
  }
  if (const at::Tensor& chosen = data.chosen(); chosen.defined()) {
    out["chosen_fingerprint"] = data.chosen_fingerprint();
    out["known_as"] = known_set(data.chosen_pattern());
    out["chosen"] = as_list(chosen);
  }
  return out;
}

}  // namespace

void describe_run(Assembly& run, RunDirectory& directory, const std::vector<std::string>& command) {
  directory.write_text("recipe.toml", to_toml(run.recipe.resolved));
  nlohmann::ordered_json environment = describe_environment();
  environment["threads"] = at::get_num_threads();
  // What train.convolution's own kernels run on; "": there are none, all is LibTorch's.
  environment["convolution_kernels"] = ops::winograd_instructions();
  environment["world"] = run.plan.world;
  environment["run_device"] = run.process.device.str();
  environment["command"] = command;
  environment["started"] = utc_now();
  environment["plugins"] = describe_plugins(run.registry.loaded());
  directory.write_json("environment.json", environment);
  directory.write_json("data.json", describe_data(run.train));
  run.log.say(
      Severity::info,
      fmt::format("{}: {} samples, {} epochs of {} steps → {}", run.plan.name, run.train.size(),
                  run.plan.epochs, run.notebook.facts.steps_per_epoch, directory.path().string()));
  if (run.harmonizer) run.log.say(Severity::info, to_text(run.certificate));
}

std::map<std::string, std::string> export_facts(const Assembly& run, int64_t epochs) {
  const Slot& backbone = run.components.backbone.slot;
  std::map<std::string, std::string> facts = {
      {"ghhost.version", describe_environment()["ghhost"]},
      {"ghhost.backbone", backbone.id},
      {"ghhost.backbone.params", to_json(backbone.params).dump()},
      {"ghhost.method", run.components.method.slot.id},
      {"ghhost.seed", std::to_string(run.plan.seed)},
      {"ghhost.epochs", std::to_string(epochs)},
      {"ghhost.data.fingerprint", run.train.fingerprint()},
      {"ghhost.recipe", to_toml(run.recipe.resolved)}};
  if (run.train.pictures()) {
    const NormalizePlan& normalize = run.plan.plain_views.groups.front().normalize;
    facts["ghhost.data.mean"] = nlohmann::json(normalize.mean).dump();
    facts["ghhost.data.std"] = nlohmann::json(normalize.std).dump();
  }
  return facts;
}

}  // namespace gh::host
