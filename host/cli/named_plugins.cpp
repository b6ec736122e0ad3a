#include "cli/named_plugins.hpp"

#include "plugins/registry.hpp"

#include "gh/error.hpp"

namespace gh::host {

void require_usable(const std::vector<std::string>& named_plugins) {
  SearchPath named = default_search_path(named_plugins);
  std::erase_if(named.places, [](const SearchPath::Place& place) { return !place.argument(); });
  const std::string problem = Registry(named).refused_by_name();
  require(problem.empty(), ErrorCode::invalid_param, problem);
}

}  // namespace gh::host
