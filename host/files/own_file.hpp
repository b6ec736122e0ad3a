// Files of a run directory, as those who show them to others read them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace gh::host {

struct OwnFile {
  std::optional<std::string> bytes;
  std::string problem;  // "is missing", "is a link, …"; empty when it was read
};

// Reads `name`, which is relative to `directory`. A report is passed on, so it must not pick up
// files from elsewhere on this machine: `name` may not lead out of the directory, no part of it may
// be a link, and what it names must be a regular file. Throws gh::Error (io) when such a file
// cannot be read.
OwnFile read_own_file(const std::filesystem::path& directory, const std::filesystem::path& name);

}  // namespace gh::host
