// Changes to a recipe that were given on the command line. Used inside this room only.
#pragma once

#include "recipe/recipe.hpp"

#include <span>
#include <string>

namespace gh::host {

// Applies in order. Each reads
//   a.b=value    sets; the table it is in must exist (or be one that every recipe has)
//   +a.b=value   adds, with the tables on the way; +eval={…} appends to the list
//   ~a.b         removes
// where value is TOML or a bare word, and a number in the path indexes a list. Whether the key is
// known is left to validation, which finds the override by its source: kCommandLine, one line an
// override. One that cannot be applied is reported and skipped.
void apply_overrides(Table& root, std::span<const std::string> overrides, Diagnostics& out);

// The same of one that stands in a file.
void apply_override(Table& root, const WrittenOverride& written, Diagnostics& out);

}  // namespace gh::host
