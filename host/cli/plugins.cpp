// ghhost plugins list, info and check.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "gh/error.hpp"
#include "plugins/inspect.hpp"
#include "plugins/registry.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gh::host {
namespace {

nlohmann::ordered_json to_json(const PluginFile& file) {
  nlohmann::ordered_json out = {
      {"file", file.file.string()}, {"origin", file.origin}, {"usable", file.usable()}};
  if (file.note) {
    out["name"] = file.note->name;
    out["version"] = file.note->version;
    out["provides"] = file.note->provides;
    out["built_with"] = file.note->fingerprint;
  }
  if (file.error)
    out["error"] = {{"code", name_of(file.error->code)}, {"message", file.error->message}};
  if (file.shadowed_by) out["shadowed_by"] = file.shadowed_by->string();
  return out;
}

void print_list(const Registry& registry) {
  std::size_t width = 6;
  for (const PluginFile& file : registry.files())
    if (file.note) width = std::max(width, file.note->name.size());
  for (const PluginFile& file : registry.files()) {
    if (file.error) {
      print_result("refused  {}\n         {}: {}\n", file.file.string(), name_of(file.error->code),
                   file.error->message);
      continue;
    }
    print_result("{}{:<{}}  {:<8}  {}  ({})\n", file.shadowed_by ? "shadowed " : "",
                 file.note->name, width, file.note->version, fmt::join(file.note->provides, ", "),
                 file.origin);
    if (file.shadowed_by) print_result("         {} comes first\n", file.shadowed_by->string());
  }
  print_result("\nLooked in:\n");
  for (const SearchPath::Place& place : registry.search_path().places)
    print_result("  {}  ({})\n", place.path.string(), place.origin);
}

int inspect(const PluginArguments& arguments, const GlobalOptions& global, InspectDepth depth) {
  const PluginReport report =
      inspect_in_child(default_search_path(global.plugins), arguments.what, depth);
  if (arguments.json) {
    print_result("{}\n", report.json);
    return report.ok() ? kOk : kBadRecipe;
  }
  if (report.error) {
    print_message("{}: {}: {}\n", report.file.empty() ? arguments.what : report.file.string(),
                  name_of(report.error->code), report.error->message);
    for (const std::string& violation : report.violations) print_message("  {}\n", violation);
    return kBadRecipe;
  }
  if (depth == InspectDepth::info) print_result("{}", report.text);
  for (const std::string& remark : report.remarks) print_result("note: {}\n", remark);
  if (depth == InspectDepth::check) print_result("{}: ok\n", report.file.string());
  return kOk;
}

}  // namespace

void require_named_plugins(const GlobalOptions& global) {
  SearchPath named = default_search_path(global.plugins);
  std::erase_if(named.places, [](const SearchPath::Place& place) { return !place.argument(); });
  const std::string problem = Registry(named).refused_by_name();
  require(problem.empty(), ErrorCode::invalid_param, problem);
}

int plugins_list_command(const PluginArguments& arguments, const GlobalOptions& global) {
  const Registry registry(default_search_path(global.plugins));
  if (!arguments.json) {
    print_list(registry);
    return kOk;
  }
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const PluginFile& file : registry.files()) out.push_back(to_json(file));
  print_result("{}\n", json_text(out, 2));
  return kOk;
}

int plugins_info_command(const PluginArguments& arguments, const GlobalOptions& global) {
  return inspect(arguments, global, InspectDepth::info);
}

int plugins_check_command(const PluginArguments& arguments, const GlobalOptions& global) {
  return inspect(arguments, global, InspectDepth::check);
}

}  // namespace gh::host
