// ghhost plugins check WHAT.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/inspect_plugin.hpp"

namespace gh::host {
namespace {

class PluginsCheck final : public Command {
 public:
  PluginsCheck()
      : Command({"plugins check",
                 "Load a plugin in a child process and try each component against its contract",
                 "Example:\n  ghhost plugins check build/my_method.so"}) {}

  void declare(Options& options) override { arguments_.declare(options); }

  int run(const GlobalOptions& global) override {
    return inspect_plugin(arguments_, global, InspectDepth::check);
  }

 private:
  InspectArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> plugins_check_command() { return std::make_unique<PluginsCheck>(); }

}  // namespace gh::host
