// ghhost plugins info WHAT, and ghhost plugins check WHAT.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "plugins/inspect.hpp"
#include "run/standard_streams.hpp"

namespace gh::host {
namespace {

constexpr Command::About kInfo = {
    "plugins info", "What a plugin offers: components, parameters, a block to paste into a recipe",
    "Example:\n  ghhost plugins info sinkhorn"};
constexpr Command::About kCheck = {
    "plugins check", "Load a plugin in a child process and try each component against its contract",
    "Example:\n  ghhost plugins check build/my_set.so --recipe recipe.toml"};

class Inspect final : public Command {
 public:
  explicit Inspect(InspectDepth depth)
      : Command(depth == InspectDepth::info ? kInfo : kCheck), depth_(depth) {}

  void declare(Options& options) override {
    options.required("PLUGIN", what_, "A file, kind/id, id or plugin name");
    if (depth_ == InspectDepth::check)
      options.text("--recipe", "FILE", recipe_,
                   "Try components with the parameters that this recipe gives them");
    options.flag("--json", json_, "Print JSON");
  }

  int run(const GlobalOptions& global) override {
    const PluginReport report =
        inspect_in_child(default_search_path(global.plugins), what_,
                         {.depth = depth_, .recipe = recipe_, .load = load_options(global)});
    if (json_) {
      print_result("{}\n", report.json);
      return report.ok() ? kOk : kBadRecipe;
    }
    if (report.error) {
      print_message("{}: {}: {}\n", report.file.empty() ? what_ : report.file.string(),
                    name_of(report.error->code), report.error->message);
      for (const std::string& violation : report.violations) print_message("  {}\n", violation);
    } else if (depth_ == InspectDepth::info) {
      print_result("{}", report.text);
    }
    for (const std::string& tried : report.tried) print_result("tried: {}\n", tried);
    for (const std::string& remark : report.remarks) print_result("note: {}\n", remark);
    if (report.error) return kBadRecipe;
    if (depth_ == InspectDepth::check)
      print_result("{}: {}\n", report.file.string(),
                   report.tried.empty() ? "nothing was tried" : "ok");
    return kOk;
  }

 private:
  InspectDepth depth_;
  std::string what_, recipe_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> plugins_info_command() {
  return std::make_unique<Inspect>(InspectDepth::info);
}
std::unique_ptr<Command> plugins_check_command() {
  return std::make_unique<Inspect>(InspectDepth::check);
}

}  // namespace gh::host
