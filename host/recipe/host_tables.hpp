// The layout of a recipe as data: which tables there are, which keys are the host's and where
// components plug in. A new host key is a line in the file of its table (views_table.cpp,
// harmonize_table.cpp, train_table.cpp, host_tables.cpp for the others); loading, validation,
// defaults and listings follow. Used inside this room only.
#pragma once

#include "recipe/diagnostics.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"

#include "gh/plugin.h"

#include <optional>
#include <string>
#include <vector>

namespace gh::host {

// One meaning of a table whose `id` picks among things the host itself has, such as optimizers.
struct Variant {
  std::string id;
  std::string doc;
  Schema keys;
};

struct TableSpec {
  enum class Presence {
    required,
    optional,
    implied,  // absent is the same as empty: the resolved recipe always has it
    list,     // any number: [[name]]
    spread,   // may be written and set; `expand` of the table above moves it elsewhere
  };

  std::string name;  // key in the table above; empty for the root
  std::string doc;
  Presence presence = Presence::required;
  Schema keys;  // the host's own
  // `id` names a plugin's component, the other keys are its parameters; or one of the variants.
  std::optional<gh_kind> component;
  std::vector<Variant> variants;
  std::string default_variant;  // empty: `id` is required
  std::vector<TableSpec> tables;
  Table (*expand)(const Table&) = nullptr;  // rewrites what was written before it is checked

  const TableSpec* find(std::string_view table) const;
  // Host keys with `id` in front where the table has one.
  Schema own_keys() const;
};

// The root, every table below it.
const TableSpec& recipe_layout();

// The layout's node for a dotted path ("eval.0" is the node of "eval"), or null where the path
// leaves what the host knows.
const TableSpec* find_layout(std::string_view path);

// Rules across tables. Parts of `resolved` that had errors are absent, and rules about them stay
// silent.
void check_rules(const Table& resolved, Diagnostics& out);

}  // namespace gh::host
