// ghhost plugins list.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "plugins/registry.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

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

class PluginsList final : public Command {
 public:
  PluginsList()
      : Command({"plugins list", "What is on the search path; runs no plugin code",
                 "Example:\n  ghhost plugins list --json"}) {}

  void declare(Options& options) override { options.flag("--json", json_, "Print JSON"); }

  int run(const GlobalOptions& global) override {
    const Registry registry(default_search_path(global.plugins));
    if (!json_) {
      print_list(registry);
      return kOk;
    }
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const PluginFile& file : registry.files()) out.push_back(to_json(file));
    print_result("{}\n", json_text(out, 2));
    return kOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> plugins_list_command() { return std::make_unique<PluginsList>(); }

}  // namespace gh::host
