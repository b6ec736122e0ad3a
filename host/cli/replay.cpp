// ghhost replay RUN.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "cli/read_recipe.hpp"
#include "run/standard_streams.hpp"
#include "session/session.hpp"

namespace gh::host {
namespace {

class Replay final : public Command {
 public:
  Replay()
      : Command({"replay", "Make the step again at which a run's numbers stopped being finite",
                 R"(Example:
  ghhost replay runs/cifar-001
Starts at the newest checkpoint, changes nothing, and ends with 0 when the step has the same
numbers again.)"}) {}

  void declare(Options& options) override { options.required("RUN", run_, "Run directory"); }

  int run(const GlobalOptions& global) override {
    Registry registry = open_registry(global);
    const ReplayOutcome outcome = replay_run(recipe_of_run(run_, registry), registry, run_);
    print_result("{}\n", outcome.text);
    return outcome.same ? kOk : kRunFailed;
  }

 private:
  std::string run_;
};

}  // namespace

std::unique_ptr<Command> replay_command() { return std::make_unique<Replay>(); }

}  // namespace gh::host
