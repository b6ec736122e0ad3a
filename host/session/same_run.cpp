#include "session/same_run.hpp"

#include "run/environment.hpp"
#include "session/assembly.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"
#include "gh/ops/convolution.hpp"

#include <ATen/Parallel.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

namespace gh::host {
namespace {

// Tables and keys on which the weights of a trained run do not depend.
constexpr std::array<std::string_view, 9> kFreeAfterwards = {
    "seed",  "eval",         "data",          "views.plain",      "loader",
    "ranks", "train.device", "train.threads", "train.convolution"};

bool may_change_afterwards(std::string_view key) {
  return std::any_of(kFreeAfterwards.begin(), kFreeAfterwards.end(), [&](std::string_view free) {
    return key == free || (key.starts_with(free) && key[free.size()] == '.');
  });
}

// What a run may go on with otherwise: a file that broke, or another machine, need not end it.
bool may_change_on_the_way(std::string_view key) {
  return key == "loader.on_error" || key == "train.threads";
}

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return in ? parse_json_or_discard(std::string(std::istreambuf_iterator<char>(in), {}))
            : nlohmann::json();
}

void require_same_data(const std::filesystem::path& run, const SampleSet& train) {
  const nlohmann::json data = read_json(run / "data.json");
  if (!data.is_object()) return;
  const std::string chosen = train.chosen().defined() ? train.chosen_fingerprint() : "";
  require(data.value("fingerprint", "") == train.fingerprint() &&
              data.value("chosen_fingerprint", "") == chosen,
          ErrorCode::invalid_param, "the data have changed since ", run.string(),
          " was started (fingerprint ", train.fingerprint(), ", it was ",
          data.value("fingerprint", "unknown"), ")");
}

// Component → name and version of its plugin, by environment.json.
std::map<std::string, std::string> versions_of(const nlohmann::json& plugins) {
  std::map<std::string, std::string> out;
  for (const nlohmann::json& plugin : plugins)
    for (const nlohmann::json& component : plugin.value("provides", nlohmann::json::array()))
      out[component.get<std::string>()] =
          plugin.value("name", "") + " " + plugin.value("version", "");
  return out;
}

void warn_of_environment(const std::filesystem::path& run, const Continuation& now,
                         const std::function<void(const std::string&)>& warn) {
  const nlohmann::json before = read_json(run / "environment.json");
  if (!before.is_object()) return;
  const auto compare = [&](const char* key, const nlohmann::json& is) {
    const nlohmann::json was = before.value(key, nlohmann::json());
    if (was != is)
      warn(
          fmt::format("{} was {} when the run began and is {} now: numbers may differ from those "
                      "of an uninterrupted run",
                      key, json_text(was), json_text(is)));
  };
  const nlohmann::json here = describe_environment();
  for (const char* key : {"ghhost", "torch", "cpu"}) compare(key, here[key]);
  compare("threads", at::get_num_threads());
  compare("convolution_kernels", ops::winograd_instructions());
  compare("world", now.world);
  compare("run_device", now.device);
  const nlohmann::json plugins = describe_plugins(now.registry.loaded());
  for (const nlohmann::json& plugin : before.value("plugins", nlohmann::json::array()))
    for (const nlohmann::json& loaded : plugins)
      if (loaded["name"] == plugin["name"] && loaded["sha256"] != plugin["sha256"])
        warn(fmt::format("plugin {} is another build than when the run began",
                         plugin["name"].get<std::string>()));
}

}  // namespace

Recipe recorded_recipe(const std::filesystem::path& run, Registry& registry) {
  Diagnostics problems;
  Recipe recipe = load_recipe(run / "recipe.toml", {}, registry, problems);
  require(!problems.has_errors(), ErrorCode::invalid_param, "the recipe in ", run.string(),
          " does not fit these plugins any more:\n", problems.text());
  return recipe;
}

void require_same_run(const std::filesystem::path& run, const Continuation& now,
                      const std::function<void(const std::string&)>& warn) {
  if (!std::filesystem::exists(run / "recipe.toml")) return;  // stopped before it began
  auto differences =
      numeric_differences(recorded_recipe(run, now.registry).resolved, now.recipe.resolved);
  std::erase_if(differences, [](const Difference& d) { return may_change_on_the_way(d.key); });
  require(differences.empty(), ErrorCode::invalid_param, run.string(),
          " was started with another recipe; undo these changes, or start anew with another "
          "--out:\n",
          to_text(differences));
  require_same_data(run, now.train);
  warn_of_environment(run, now, warn);
}

Continuation continuation_of(const Assembly& run) {
  return {.recipe = run.recipe,
          .registry = run.registry,
          .train = run.train,
          .world = run.plan.world,
          .device = run.process.device.str()};
}

void require_same_ground(const std::filesystem::path& run, const Continuation& now,
                         const std::function<void(const std::string&)>& warn) {
  require_same_data(run, now.train);
  const nlohmann::json before = read_json(run / "environment.json");
  if (!before.is_object()) return;
  const auto was = versions_of(before.value("plugins", nlohmann::json::array()));
  const auto is = versions_of(describe_plugins(now.registry.loaded()));
  std::vector<Difference> differences;
  for (const auto& [component, plugin] : was)
    if (const auto found = is.find(component); found != is.end() && found->second != plugin)
      differences.push_back({"plugin of " + component, plugin, found->second});
  require(differences.empty(), ErrorCode::invalid_param, run.string(),
          " was trained with other plugins:\n", to_text(differences));
  warn_of_environment(run, now, warn);
}

std::vector<Difference> changes_since(const std::filesystem::path& run, const Recipe& recipe,
                                      Registry& registry) {
  const auto differences =
      numeric_differences(recorded_recipe(run, registry).resolved, recipe.resolved);
  std::vector<Difference> refused;
  for (const Difference& d : differences)
    if (!may_change_afterwards(d.key)) refused.push_back(d);
  require(refused.empty(), ErrorCode::invalid_param, run.string(),
          " was trained with another recipe. An evaluation may change seed, eval, data, "
          "views.plain, loader, ranks, train.device, train.threads and train.convolution, not:\n",
          to_text(refused));
  return differences;
}

bool is_finished(const std::filesystem::path& run) {
  const nlohmann::json status = read_json(run / "status.json");
  return status.is_object() && status.value("state", "") == "finished";
}

}  // namespace gh::host
