#include "cli/inspect_plugin.hpp"

#include "cli/exit_codes.hpp"
#include "run/standard_streams.hpp"

namespace gh::host {

void InspectArguments::declare(Options& options) {
  options.required("WHAT", what, "A file, kind/id, id or plugin name");
  options.flag("--json", json, "Print JSON");
}

int inspect_plugin(const InspectArguments& arguments, const GlobalOptions& global,
                   InspectDepth depth) {
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

}  // namespace gh::host
