// Parameter schemas as the host keeps them: copied out of a manifest (or out of the host's own
// tables), checked once.
#pragma once

#include "gh/params.hpp"
#include "recipe/diagnostics.hpp"
#include "recipe/value.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

struct ParamSpec {
  gh_param_kind kind = GH_PARAM_BOOL;
  std::string name;
  std::string doc;
  std::string unit;
  std::optional<Value> default_value;
  bool optional = false;
  std::optional<double> min, max;
  bool min_open = false, max_open = false;
  std::vector<std::string> choices;
  std::string replaces;
  std::string since;
  std::vector<ParamSpec> fields;

  bool required() const { return !default_value && !optional; }
  std::string kind_name() const;   // "integer", "number", "one of exp, step", …
  std::string range_text() const;  // "> 0", "1 … 100", "≥ 0 and < 1", or ""
  std::string expected() const;    // "an integer ≥ 1", "a list of numbers, each > 0", …
};
using Schema = std::vector<ParamSpec>;

// Copies `count` descriptors that lie `stride` bytes apart. Throws gh::Error (invalid_param) naming
// the parameter and what is wrong with its declaration: no or malformed name, duplicate, unknown
// kind, default that does not parse or break its own bounds, choice without choices, …
Schema read_schema(const gh_param_v1* params, std::size_t count, std::size_t stride);
template <std::size_t N>
Schema read_schema(const Param (&params)[N]) {
  return read_schema(params, N, sizeof(gh_param_v1));
}

// Checks `table` against the schema and returns it with every default filled in, keys in schema
// order. `path` is the dotted path of the table. Unknown keys, missing keys, wrong kinds, bounds
// and choices are reported with position and nearest key. Keys in `ignored` belong to somebody
// else. Integers are accepted for floats. Relative paths become absolute, taken from the directory
// of the file they were written in. `owner` is whose keys they are, for messages ("ssl 'barlow'");
// empty: the table's. A value that was refused is left out of the result.
Table apply_schema(const Schema& schema, const Table& table, const Source& table_source,
                   const std::string& path, const std::vector<std::string>& ignored,
                   Diagnostics& out, const std::string& owner = {});

// Read access to a table that apply_schema() returned. Keeps its own copy.
std::unique_ptr<Params> make_params(const Schema& schema, const Table& resolved);

}  // namespace gh::host
