#include "study/identity.hpp"

#include "recipe/difference.hpp"
#include "recipe/toml.hpp"
#include "study/sharing.hpp"

#include "gh/digest.hpp"

#include <fmt/format.h>

#include <set>

namespace gh::host {
namespace {

constexpr std::size_t kDigits = 16;

void leave_out(Table& recipe, const char* table, const char* key) {
  Value* value = recipe.find(table);
  if (Table* inner = value ? value->as<Table>() : nullptr) inner->erase(key);
}

using Takes = std::function<bool(const Slot&)>;

std::string surroundings(const Recipe& recipe, const std::string& data, const PluginOf& plugin_of,
                         Builds builds, const Takes& takes) {
  std::set<std::string> plugins;
  for (const Slot& slot : recipe.slots) {
    if (!takes(slot)) continue;
    const PluginVersion plugin = plugin_of(slot.kind, slot.id);
    plugins.insert(fmt::format("{} {} {}", plugin.name, plugin.version,
                               builds == Builds::strict ? plugin.sha256 : ""));
  }
  std::string text = "data " + data + "\n";
  for (const std::string& plugin : plugins) text += "plugin " + plugin + "\n";
  return text;
}

Table without_ways(Table numbers) {
  numbers.erase("seed");
  leave_out(numbers, "train", "threads");
  leave_out(numbers, "loader", "on_error");
  return numbers;
}

}  // namespace

std::string identity_text(const Recipe& recipe, const std::string& data, const PluginOf& plugin_of,
                          Builds builds) {
  return to_toml(without_ways(numeric_part(recipe.resolved))) + "\n" +
         surroundings(recipe, data, plugin_of, builds, [](const Slot&) { return true; });
}

std::string identity_text_until(const Recipe& recipe, int64_t epochs, const std::string& data,
                                const PluginOf& plugin_of, Builds builds) {
  Recipe early = recipe;
  early.resolved = without_ways(std::move(early.resolved));
  const auto is_early = [](const Slot& slot) {
    return !slot.path.starts_with("eval.") && slot.path != "harmonize.allocator";
  };
  return fmt::format("until {}\n", epochs) + beginning_of(early, epochs) +
         surroundings(recipe, data, plugin_of, builds, is_early);
}

std::string run_id(const std::string& identity_text, int64_t seed) {
  return Digest().add(identity_text).add(fmt::format("seed {}\n", seed)).hex().substr(0, kDigits);
}

}  // namespace gh::host
