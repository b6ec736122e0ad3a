#include "cli/completions.hpp"

#include "gh/error.hpp"

#include <array>
#include <filesystem>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::array kKinds = {GH_KIND_SSL,     GH_KIND_STRUCTURE, GH_KIND_ALLOCATOR,
                               GH_KIND_DATASET, GH_KIND_BACKBONE,  GH_KIND_EVALUATOR};

void add_marked(const fs::path& folder, const std::string& before, const char* file,
                Candidates& out) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (fs::exists(it->path() / file, error))
      out.push_back({before + it->path().filename().string(), {}});
}

// A key of the recipe: where it stands, and its declaration.
struct Key {
  std::string path;
  const ParamSpec* spec;
  std::optional<gh_kind> names;  // the key is `id`, of a component of this kind
};

void add_keys(const std::string& table, const Schema& schema, std::optional<gh_kind> kind,
              std::vector<Key>& out) {
  for (const ParamSpec& spec : schema)
    out.push_back({join_path(table, spec.name), &spec, spec.name == "id" ? kind : std::nullopt});
}

// With lists as their entries where the recipe has some: eval.0.k.
std::vector<Key> keys_of(const Recipe& recipe, Registry& registry) {
  std::vector<Key> keys;
  for (const HostTable& table : host_tables()) {
    if (table.list) {
      const Value* list = recipe.find(table.path);
      const Array* entries = list ? list->as<Array>() : nullptr;
      for (std::size_t i = 0; entries && i < entries->size(); ++i) {
        const std::string path = join_path(table.path, std::to_string(i));
        const Slot* slot = recipe.find_slot(path);
        add_keys(path, table.schema, slot ? std::optional(slot->kind) : std::nullopt, keys);
      }
      continue;
    }
    const Slot* slot = recipe.find_slot(table.path);
    add_keys(table.path, table.schema, slot ? std::optional(slot->kind) : std::nullopt, keys);
  }
  for (const Slot& slot : recipe.slots)
    if (const Schema* schema = registry.find(slot.kind, slot.id).schema)
      add_keys(slot.path, *schema, std::nullopt, keys);
  return keys;
}

std::vector<std::string> values_of(const Key& key, const Registry& registry) {
  if (key.names) return registry.provided(*key.names);
  if (key.spec->kind == GH_PARAM_BOOL) return {"true", "false"};
  return key.spec->choices;
}

}  // namespace

Candidates directories_with(const char* file, const std::string& typed, const char* usual) {
  Candidates out;
  const std::string before = typed.substr(0, typed.rfind('/') + 1);
  add_marked(before.empty() ? "." : before, before, file, out);
  if (before.empty()) add_marked(usual, std::string(usual) + "/", file, out);
  return out;
}

Candidates kinds_of_plugins() {
  Candidates out;
  for (const gh_kind kind : kKinds) out.push_back({std::string(kind_name(kind)), {}});
  return out;
}

Candidates component_ids(const Registry& registry) {
  Candidates out;
  for (const gh_kind kind : kKinds)
    for (const std::string& id : registry.provided(kind))
      out.push_back({id, std::string(kind_name(kind))});
  return out;
}

Candidates overrides_of(const std::string& recipe, std::span<const std::string> earlier,
                        const std::string& typed, Registry& registry) {
  Recipe resolved;
  try {
    Diagnostics diagnostics;
    Recipe read = load_recipe(recipe, earlier, registry, diagnostics);
    if (!diagnostics.has_errors()) resolved = std::move(read);
  } catch (const Error&) {  // the host's own keys are left
  }
  const std::size_t sign = typed.find_first_not_of("+~") == 0 ? 0 : 1;
  const std::string prefix = typed.substr(0, sign), equals = prefix == "~" ? "" : "=";
  const std::size_t set = typed.find('=');
  Candidates out;
  if (prefix == "~")
    for (const HostTable& table : host_tables())
      if (!table.path.empty()) out.push_back({prefix + table.path, table.doc});
  for (const Key& key : keys_of(resolved, registry)) {
    if (set == std::string::npos)
      out.push_back({prefix + key.path + equals, key.spec->doc});
    else if (key.path == typed.substr(sign, set - sign))
      for (const std::string& value : values_of(key, registry))
        out.push_back({typed.substr(0, set + 1) + value, {}});
  }
  return out;
}

}  // namespace gh::host
