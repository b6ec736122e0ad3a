// Reading a recipe file together with the files it includes. Used inside this room only.
#pragma once

#include "recipe/diagnostics.hpp"
#include "recipe/value.hpp"

#include <filesystem>
#include <optional>

namespace gh::host {

// The merged tables, without `include`. Nullopt after reporting when a file cannot be read or
// parsed: what is missing then would only cause further complaints.
std::optional<Table> read_with_includes(const std::filesystem::path& file, Diagnostics& out);

}  // namespace gh::host
