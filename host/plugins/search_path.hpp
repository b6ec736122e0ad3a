// Where plugins are looked for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// In order; the first file that provides a component wins. Absolute; never the working directory.
struct SearchPath {
  static constexpr std::string_view kArgument = "--plugin", kBundled = "bundled";
  struct Place {
    std::filesystem::path path;  // a directory, or one file
    std::string origin;          // kArgument, "GHHOST_PLUGIN_PATH", "packages", "user", "bundled"
    bool argument() const { return origin == kArgument; }
  };
  std::vector<Place> places;
  std::vector<std::string> ignored;  // what was not taken and why, for messages
};

// --plugin arguments, GHHOST_PLUGIN_PATH (ignored when the program has raised rights),
// ghhost_plugins beside the ghhost package where the program is one of a Python environment, the
// user's directory ($XDG_DATA_HOME/ghhost/plugins), then ../lib/ghhost/plugins beside the program.
SearchPath default_search_path(const std::vector<std::string>& plugin_arguments);

// A file of the user's: $VARIABLE/ghhost/NAME, or ~/FALLBACK/ghhost/NAME; empty where there is
// neither.
std::filesystem::path user_file(const char* variable, const std::filesystem::path& fallback,
                                const std::filesystem::path& name);

// Where the user's own plugins are; may be empty.
std::filesystem::path user_plugins();

// The plugin files of a place, sorted by name: every *.so of a directory, whatever it turns out to
// be, or the file itself. A directory that does not exist has none, unless it is an argument: that
// one must be answered for.
std::vector<std::filesystem::path> plugin_files_in(const SearchPath::Place& place);

}  // namespace gh::host
