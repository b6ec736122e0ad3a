// Reads what gh_add_plugin() wrote into a plugin's ELF note, and the libraries it needs, from the file's bytes.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct PluginNote {
  std::string name;
  std::string version;
  std::vector<std::string> provides;                // "ssl/simclr"
  std::map<std::string, std::string> fingerprint;   // sdk, torch, compiler, … (gh/fingerprint.h)
  std::string text;                                 // the note as it stands
  std::vector<std::string> needed;                  // DT_NEEDED
  std::string build_id;                             // hex, may be empty
};

}  // namespace gh::host
