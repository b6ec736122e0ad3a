// The answer to a recipe that names a component nobody provides.
#pragma once

#include "plugins/registry.hpp"

#include <string>
#include <vector>

namespace gh::host {

// Nearest id, all ids of the kind, the search path, and files that were refused: first those that
// would have provided it.
std::string describe_missing(gh_kind kind, const std::string& id,
                             const std::vector<std::string>& ids,
                             const std::vector<PluginFile>& files, const SearchPath& path);

}  // namespace gh::host
