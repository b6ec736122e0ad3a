// Plugins as the options of all commands name them.
#pragma once

#include "cli/command.hpp"
#include "plugins/registry.hpp"

#include <string>
#include <vector>

namespace gh::host {

// What --locked and --pass-over say. Throws gh::Error where there is no such lock file. What is
// passed over is a warning.
LoadOptions load_options(const GlobalOptions& global);

// The same, and --plugin.
Registry open_registry(const GlobalOptions& global);

// --locked and --pass-over for another ghhost, wherever that is started.
std::vector<std::string> plugin_rules(const GlobalOptions& global);

// Throws gh::Error (invalid_param) when one of the files that --plugin names cannot be used,
// whether the command needs it or not. Runs no plugin code.
void require_usable(const std::vector<std::string>& named_plugins);

}  // namespace gh::host
