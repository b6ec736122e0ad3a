// From recipe file to resolved recipe: includes, overrides, validation of every table against the
// schemas of the host and of the plugins it names. Nothing is constructed and no data is touched.
#pragma once

#include "recipe/diagnostics.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"

#include "gh/plugin.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// Where schemas of components come from; the plugin registry implements it.
class Catalog {
 public:
  virtual ~Catalog() = default;
  struct Found {
    const Schema* schema = nullptr;  // null: `problem` says why
    void (*validate)(const void*, void*) = nullptr;
    std::string problem;  // with search paths and candidates where that helps
  };
  virtual Found find(gh_kind kind, const std::string& id) = 0;
};

// One component of the plan.
struct Slot {
  std::string path;  // "method", "harmonize.structure", "eval.0"
  gh_kind kind = GH_KIND_SSL;
  std::string id;
  Table params;  // the plugin's own parameters, resolved
};

struct Recipe {
  std::filesystem::path file;
  Table resolved;  // everything, every default included; running it again is the same run
  std::vector<Slot> slots;

  const Slot& slot(const std::string& path) const;  // throws gh::Error internal when absent
  const Slot* find_slot(const std::string& path) const;
  std::vector<const Slot*> evals() const;  // eval.0, eval.1, …
  // Resolved value by dotted path; throws gh::Error internal when absent or of another kind.
  const Value& at(const std::string& path) const;
  const Value* find(const std::string& path) const;
  bool boolean(const std::string& path) const;
  int64_t integer(const std::string& path) const;
  double real(const std::string& path) const;
  const std::string& text(const std::string& path) const;
};

// Reads `file`, merges its includes (included first, the includer wins; include paths relative to
// the including file; cycles are errors), applies overrides in order ("a.b=value", "+a.b=value"
// adds, "~a.b" removes; "eval.0.k=5" indexes lists) and validates. An override that sets a key
// neither the recipe nor the schema knows is an error with the nearest key. Where `out` has errors
// afterwards, the result is not usable.
Recipe load_recipe(const std::filesystem::path& file, std::span<const std::string> overrides,
                   Catalog& catalog, Diagnostics& out);

// An override that stands in a file. Complaints point there, and its relative paths begin there.
struct WrittenOverride {
  std::string text;
  Source at;                       // of the first character
  std::optional<Source> value_at;  // set where the text was put together of a key and a value
};

// The tables of a recipe file and of what it includes, for many recipes that differ in overrides.
// Nullopt after reporting.
std::optional<Table> read_recipe_tables(const std::filesystem::path& file, Diagnostics& out);

// load_recipe() from tables that were read from `file` before.
Recipe resolve_recipe(Table tables, const std::filesystem::path& file,
                      std::span<const WrittenOverride> overrides, Catalog& catalog,
                      Diagnostics& out);

// A value of a resolved recipe beside its declaration.
struct Declared {
  const std::string& table;  // dotted path of the table it is in
  bool table_written;        // false: the table itself is a default
  const ParamSpec& spec;
  const Value& value;
};
using DeclaredVisitor = std::function<void(const Declared&)>;

// Calls `visit` with every parameter that `recipe`, which has no errors, gives a value, the host's
// and those of components. Fields of a parameter that is a table are part of its value.
void for_each_declared(const Recipe& recipe, Catalog& catalog, const DeclaredVisitor& visit);

// The host's own tables, as `ghhost keys` lists them: path ("train"), doc, schema.
struct HostTable {
  std::string path;
  std::string doc;
  Schema schema;
  bool list = false;  // written [[path]]
};
const std::vector<HostTable>& host_tables();

// [views] of a preset with every default filled in; nullopt when there is none of that name.
std::optional<Table> resolve_view_preset(std::string_view name);

std::string_view kind_name(gh_kind kind);  // "ssl", "structure", …
bool kind_from_name(std::string_view name, gh_kind& out);

}  // namespace gh::host
