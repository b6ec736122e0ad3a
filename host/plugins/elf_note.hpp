// Reads what gh_add_plugin() wrote into a plugin's ELF note, and the libraries it needs, from the
// file's bytes. Nothing of the file runs, and the bytes may be anything.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

struct PluginNote {
  std::string name;
  std::string version;
  std::vector<std::string> provides;               // "ssl/simclr"
  std::map<std::string, std::string> fingerprint;  // sdk, torch, compiler, … (gh/fingerprint.h)
  std::string text;                                // the note as it stands
  std::vector<std::string> needed;                 // DT_NEEDED
  std::string build_id;                            // hex, may be empty
};

// Throws PluginRefused: not_elf, truncated, wrong_architecture, no_note, bad_note. Any thread.
PluginNote read_plugin_note(std::span<const std::byte> file);

// The "key=value" lines of a note or of gh::sdk_fingerprint(). Throws PluginRefused bad_note on any
// other line.
std::map<std::string, std::string> parse_note_lines(std::string_view text);

// "[a-z][a-z0-9_.-]*", what a recipe writes as `id`.
bool is_component_id(std::string_view id);

}  // namespace gh::host
