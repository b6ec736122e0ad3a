// Text to values and back.
#pragma once

#include "recipe/diagnostics.hpp"
#include "recipe/value.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gh::host {

// Parses TOML text; syntax errors go to `out` with position. `file` names the text in sources. Also
// refused, with position: texts above 1 MiB, nesting deeper than 32, and dates, which no recipe key
// takes (they come back as strings, the rest is usable).
std::optional<Table> parse_toml(std::string_view text, const std::string& file, Diagnostics& out);

// Parses one TOML value ("0.2", "[1, 2]", "\"x\""); nullopt if it is none. Sources count lines and
// columns within `text` and name no file.
std::optional<Value> parse_toml_value(std::string_view text);

// TOML text that parses back to the same values: sub-tables after plain keys, floats always with a
// point or exponent and in the shortest form that reads back exactly.
std::string to_toml(const Table& table);
std::string to_toml_value(const Value& value);

}  // namespace gh::host
