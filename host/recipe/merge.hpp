// How one table is laid over another: included recipes, overrides and presets follow one rule. Used
// inside this room only.
#pragma once

#include "recipe/value.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// A table that started empty because its `id` changed.
struct Replaced {
  std::string path;        // of the table
  std::string old_id, id;  // what it was, what it is
  // Keys of the old one that nobody wrote anew; never empty.
  std::vector<Entry> dropped;
  Source source;  // of the new id
};
using OnReplaced = std::function<void(const Replaced&)>;

// `over` wins. Tables merge key by key, lists and everything else are replaced whole. A table whose
// `id` changes starts empty: keys belong to the component they were written for. Where the layout
// has a default id, a table without one has that. `path` is that of the tables; `told` may be
// empty.
void merge(Table& base, Table over, const std::string& path, const OnReplaced& told);

// Empties `table` when `id` is not what it has, and tells, but for keys that `rewritten` has.
void begin_anew_if_other(Table& table, const Value& id, const Table& rewritten,
                         const std::string& path, const OnReplaced& told);

// "is now 'b'; what was written for 'a' is dropped: x (base.toml:3), y (base.toml:4)".
std::string describe(const Replaced& replaced);

}  // namespace gh::host
