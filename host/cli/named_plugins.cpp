#include "cli/named_plugins.hpp"

#include "plugins/lock_file.hpp"
#include "run/standard_streams.hpp"

#include "gh/error.hpp"

#include <filesystem>
#include <memory>

namespace gh::host {

LoadOptions load_options(const GlobalOptions& global) {
  LoadOptions options;
  if (!global.lock.empty()) options.lock = std::make_shared<PluginLock>(read_lock(global.lock));
  if (global.pass_over)
    options.pass_over = [](const std::string& reason) {
      print_message("warning: passed over: {}\n", reason);
    };
  return options;
}

Registry open_registry(const GlobalOptions& global) {
  return Registry(default_search_path(global.plugins), load_options(global));
}

std::vector<std::string> plugin_rules(const GlobalOptions& global) {
  std::vector<std::string> rules;
  if (!global.lock.empty())
    rules.push_back("--locked=" + std::filesystem::absolute(global.lock).string());
  if (global.pass_over) rules.emplace_back("--pass-over");
  return rules;
}

void require_usable(const std::vector<std::string>& named_plugins) {
  SearchPath named = default_search_path(named_plugins);
  std::erase_if(named.places, [](const SearchPath::Place& place) { return !place.argument(); });
  const std::string problem = Registry(named).refused_by_name();
  require(problem.empty(), ErrorCode::invalid_param, problem);
}

}  // namespace gh::host
