// Plugins that --plugin names.
#pragma once

#include <string>
#include <vector>

namespace gh::host {

// Throws gh::Error (invalid_param) when one of them cannot be used, whether the command needs it or
// not. Runs no plugin code.
void require_usable(const std::vector<std::string>& named_plugins);

}  // namespace gh::host
