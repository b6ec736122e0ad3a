// An index of plugins that somebody offers: one static file of JSON, which says of every build
// where it is, what its bytes are and what it was built with.
//
//   {"ghhost_index": 1, "plugins": [
//     {"name": "my_method", "doc": "…", "license": "MIT", "versions": [
//       {"version": "1.2.0", "url": "my_method-1.2.0.so", "sha256": "…",
//        "fingerprint": {"sdk": "1.1", "torch": "2.5.1", …}}]}]}
#pragma once

#include "plugins/fingerprint.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

struct OfferedBuild {
  std::string version;
  std::string url;  // or a path; relative to the index
  std::string sha256;
  Fingerprint fingerprint;
};

struct OfferedPlugin {
  std::string name, doc, license;
  std::vector<OfferedBuild> builds;  // newest first; those of a version as they stand in the file
};

// Keys that it does not know are passed over. Throws gh::Error (invalid_param) where `text` is no
// index; `file` is what messages call it.
std::vector<OfferedPlugin> read_index(std::string_view text, const std::string& file);

// The newest build of a plugin, or that of a version unless it is empty, that fits this host.
// Throws gh::Error (invalid_param) where there is no such version, and where none of it fits, with
// what differs.
const OfferedBuild& choose_build(const OfferedPlugin& plugin, std::string_view version);

bool fits_this_host(const OfferedBuild& build);

}  // namespace gh::host
