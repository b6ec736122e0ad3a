#include "study/identity.hpp"

#include "recipe/difference.hpp"
#include "recipe/toml.hpp"

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

}  // namespace

std::string identity_text(const Recipe& recipe, const std::string& data, const PluginOf& plugin_of,
                          Builds builds) {
  Table numbers = numeric_part(recipe.resolved);
  numbers.erase("seed");
  leave_out(numbers, "train", "threads");
  leave_out(numbers, "loader", "on_error");
  std::set<std::string> plugins;
  for (const Slot& slot : recipe.slots) {
    const PluginVersion plugin = plugin_of(slot.kind, slot.id);
    plugins.insert(fmt::format("{} {} {}", plugin.name, plugin.version,
                               builds == Builds::strict ? plugin.sha256 : ""));
  }
  std::string text = to_toml(numbers) + "\ndata " + data + "\n";
  for (const std::string& plugin : plugins) text += "plugin " + plugin + "\n";
  return text;
}

std::string run_id(const std::string& identity_text, int64_t seed) {
  return Digest().add(identity_text).add(fmt::format("seed {}\n", seed)).hex().substr(0, kDigits);
}

}  // namespace gh::host
