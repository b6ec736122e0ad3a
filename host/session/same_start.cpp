#include "session/same_start.hpp"

#include "recipe/difference.hpp"
#include "recipe/toml.hpp"
#include "run/environment.hpp"

#include "gh/error.hpp"

#include <set>

namespace gh::host {
namespace {

std::set<std::string> free_keys(const Recipe& recipe, const Registry& registry) {
  std::set<std::string> out = {"name",          "loader.threads", "loader.prefetch",
                               "ranks.timeout", "train.threads",  "train.device"};
  const Slot& data = recipe.slot("data");
  for (const ParamSpec& param : registry.info(data.kind, data.id).schema)
    if (param.kind == GH_PARAM_PATH || param.kind == GH_PARAM_PATH_LIST)
      out.insert("data." + param.name);
  return out;
}

void require_none(Ranks& ranks, const std::vector<Disagreement>& found, const char* advice) {
  if (found.empty()) return;
  ranks.leave();  // together, so that all can tell
  fail(ErrorCode::invalid_param, "the ranks of this run were not started alike; ", advice, ":\n",
       to_text(found));
}

}  // namespace

void require_same_start(Ranks& ranks, const Recipe& recipe, const Registry& registry,
                        at::Device device, Facts more) {
  Facts facts = std::move(more);
  const std::set<std::string> free = free_keys(recipe, registry);
  for_each_leaf(recipe.resolved, [&](const std::string& key, const Value& value) {
    if (!free.contains(key)) facts[key] = to_toml_value(value);
  });
  for (const auto& plugin : describe_plugins(registry.loaded()))
    facts["plugin " + plugin["name"].get<std::string>()] =
        plugin["version"].get<std::string>() + " sha256:" + plugin["sha256"].get<std::string>();
  const auto environment = describe_environment();
  for (const char* key : {"ghhost", "sdk", "torch"})
    facts[key] = environment[key].get<std::string>();
  facts["device"] = c10::DeviceTypeName(device.type(), true);
  require_none(ranks, disagreements(ranks, facts),
               "give every rank the same recipe, plugins and program");
}

void require_same_samples(Ranks& ranks, const SampleSet& train) {
  const Facts facts = {{"data fingerprint", train.fingerprint()},
                       {"data samples", std::to_string(train.size())},
                       {"data chosen", train.chosen().defined() ? train.chosen_fingerprint() : ""}};
  require_none(ranks, disagreements(ranks, facts), "give every rank the same data");
}

}  // namespace gh::host
