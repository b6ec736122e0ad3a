#include "recipe/recipe.hpp"

#include "recipe/include.hpp"
#include "recipe/overrides.hpp"
#include "recipe/resolve.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gh::host {
namespace {

constexpr std::array<std::pair<gh_kind, std::string_view>, 6> kKinds{
    {{GH_KIND_SSL, "ssl"},
     {GH_KIND_STRUCTURE, "structure"},
     {GH_KIND_ALLOCATOR, "allocator"},
     {GH_KIND_DATASET, "dataset"},
     {GH_KIND_BACKBONE, "backbone"},
     {GH_KIND_EVALUATOR, "evaluator"}}};

template <class T>
const T& typed(const Value& value, const std::string& path) {
  const T* data = value.as<T>();
  require(data, ErrorCode::internal, "recipe value '", path, "' is ", kind_of(value));
  return *data;
}

}  // namespace

const Slot* Recipe::find_slot(const std::string& path) const {
  const auto found =
      std::find_if(slots.begin(), slots.end(), [&](const Slot& s) { return s.path == path; });
  return found == slots.end() ? nullptr : &*found;
}

const Slot& Recipe::slot(const std::string& path) const {
  const Slot* found = find_slot(path);
  require(found, ErrorCode::internal, "the recipe has no component at '", path, "'");
  return *found;
}

std::vector<const Slot*> Recipe::evals() const {
  std::vector<const Slot*> found;
  for (const Slot& s : slots)
    if (s.path.starts_with("eval.")) found.push_back(&s);
  return found;
}

const Value* Recipe::find(const std::string& path) const { return find_path(resolved, path); }

const Value& Recipe::at(const std::string& path) const {
  const Value* value = find(path);
  require(value, ErrorCode::internal, "the recipe has no value at '", path, "'");
  return *value;
}

bool Recipe::boolean(const std::string& path) const { return typed<bool>(at(path), path); }
int64_t Recipe::integer(const std::string& path) const { return typed<int64_t>(at(path), path); }
double Recipe::real(const std::string& path) const { return typed<double>(at(path), path); }
const std::string& Recipe::text(const std::string& path) const {
  return typed<std::string>(at(path), path);
}

Recipe load_recipe(const std::filesystem::path& file, std::span<const std::string> overrides,
                   Catalog& catalog, Diagnostics& out) {
  std::optional<Table> tables = read_recipe_tables(file, out);
  if (!tables) return {.file = file, .resolved = {}, .slots = {}};
  apply_overrides(*tables, overrides, out);
  return resolve_recipe(std::move(*tables), file, {}, catalog, out);
}

std::optional<Table> read_recipe_tables(const std::filesystem::path& file, Diagnostics& out) {
  return read_with_includes(file, out);
}

Recipe resolve_recipe(Table tables, const std::filesystem::path& file,
                      std::span<const WrittenOverride> overrides, Catalog& catalog,
                      Diagnostics& out) {
  for (const WrittenOverride& o : overrides) apply_override(tables, o, out);
  if (!tables.find("name")) tables.set("name", {file.stem().string(), {}});
  Recipe recipe{.file = file, .resolved = {}, .slots = {}};
  resolve(tables, catalog, recipe, out);
  return recipe;
}

std::string_view kind_name(gh_kind kind) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.first == kind; });
  return found == kKinds.end() ? "unknown kind" : found->second;
}

bool kind_from_name(std::string_view name, gh_kind& out) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.second == name; });
  if (found == kKinds.end()) return false;
  out = found->first;
  return true;
}

}  // namespace gh::host
