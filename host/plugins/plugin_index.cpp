#include "plugins/plugin_index.hpp"

#include "plugins/checked_json.hpp"
#include "plugins/plugin_error.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace gh::host {
namespace {

using Json = nlohmann::ordered_json;

// 1.10.0 comes after 1.9.0, and after 1.10.0-rc1.
bool is_newer(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text) {
    return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  };
  for (;;) {
    std::string_view x = digits(a), y = digits(b);
    a.remove_prefix(x.size());
    b.remove_prefix(y.size());
    x.remove_prefix(std::min(x.find_first_not_of('0'), x.size()));
    y.remove_prefix(std::min(y.find_first_not_of('0'), y.size()));
    if (x.size() != y.size()) return x.size() > y.size();
    if (x != y) return x > y;
    if (a.empty() || b.empty()) break;
    if (a.front() != b.front()) return a.front() == '.' || (b.front() != '.' && a > b);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return !a.empty() ? a.front() == '.' : !b.empty() && b.front() != '.';
}

OfferedPlugin plugin_in(const Json& entry) {
  OfferedPlugin plugin{name_in(entry), text_in(entry, "doc"), text_in(entry, "license"), {}};
  for (const Json& build : list_in(entry, "versions"))
    plugin.builds.push_back({text_in(build, "version"), text_in(build, "url"), sha256_in(build),
                             fingerprint_in(build)});
  std::ranges::stable_sort(plugin.builds, is_newer, &OfferedBuild::version);
  return plugin;
}

}  // namespace

std::vector<OfferedPlugin> read_index(std::string_view text, const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::invalid_param, file, " is no index of plugins: ", why);
  };
  std::vector<OfferedPlugin> out;
  try {
    const Json json = parse_json<Json>(text);
    require_format(json, "ghhost_index", 1);
    for (const Json& entry : list_in(json, "plugins")) {
      OfferedPlugin plugin = plugin_in(entry);
      if (std::ranges::find(out, plugin.name, &OfferedPlugin::name) != out.end())
        throw std::invalid_argument(fmt::format("{} is there twice", plugin.name));
      out.push_back(std::move(plugin));
    }
  } catch (const std::invalid_argument& e) {
    refuse(e.what());
  } catch (const Json::exception& e) {
    refuse(printable(e.what()));
  }
  return out;
}

bool fits_this_host(const OfferedBuild& build) {
  try {
    check_fingerprint(host_fingerprint(), host_cpu_level(), build.fingerprint);
    return true;
  } catch (const PluginRefused&) {
    return false;
  }
}

const OfferedBuild& choose_build(const OfferedPlugin& plugin, std::string_view version) {
  const OfferedBuild* newest = nullptr;
  std::vector<std::string> versions;
  for (const OfferedBuild& build : plugin.builds) {
    if (versions.empty() || versions.back() != build.version) versions.push_back(build.version);
    if (!version.empty() && version != build.version) continue;
    if (fits_this_host(build)) return build;
    if (newest == nullptr) newest = &build;
  }
  require(newest != nullptr, ErrorCode::invalid_param, plugin.name, " is not offered as \"",
          version, "\"; versions: ", fmt::format("{}", fmt::join(versions, ", ")));
  try {
    check_fingerprint(host_fingerprint(), host_cpu_level(), newest->fingerprint);
  } catch (const PluginRefused& e) {
    fail(ErrorCode::invalid_param, "no build of ", plugin.name,
         " that is offered fits this ghhost. Of ", newest->version, ": ", e.what());
  }
  return *newest;
}

}  // namespace gh::host
