// ghhost version.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "run/environment.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

namespace gh::host {
namespace {

class Version final : public Command {
 public:
  Version()
      : Command({"version", "Print versions of program, SDK, LibTorch and compiler",
                 "Example:\n  ghhost version --json"}) {}

  void declare(Options& options) override { options.flag("--json", json_, "Print JSON"); }

  int run(const GlobalOptions&) override {
    const nlohmann::ordered_json environment = describe_environment();
    if (json_) {
      print_result("{}\n", json_text(environment, 2));
      return kOk;
    }
    for (const auto& [key, value] : environment.items())
      print_result("{:<10}{}\n", key,
                   value.is_string() ? value.get<std::string>() : json_text(value));
    return kOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> version_command() { return std::make_unique<Version>(); }

}  // namespace gh::host
