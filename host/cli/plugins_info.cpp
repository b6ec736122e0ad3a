// ghhost plugins info WHAT.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/inspect_plugin.hpp"

namespace gh::host {
namespace {

class PluginsInfo final : public Command {
 public:
  PluginsInfo()
      : Command({"plugins info",
                 "What a plugin offers: components, parameters, a block to paste into a recipe",
                 "Example:\n  ghhost plugins info sinkhorn"}) {}

  void declare(Options& options) override { arguments_.declare(options); }

  int run(const GlobalOptions& global) override {
    return inspect_plugin(arguments_, global, InspectDepth::info);
  }

 private:
  InspectArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> plugins_info_command() { return std::make_unique<PluginsInfo>(); }

}  // namespace gh::host
