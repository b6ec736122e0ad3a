// ghhost resume RUN: by the recipe in its directory.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/read_recipe.hpp"
#include "cli/run_by_recipe.hpp"

namespace gh::host {
namespace {

class Resume final : public Command {
 public:
  Resume()
      : Command({"resume", "Go on with a run that was stopped, bit for bit", R"(Examples:
  ghhost resume runs/toy-001
  ghhost resume runs/toy-001 loader.on_error=skip
May be changed: loader, train.threads, checkpoint.)"}) {}

  void declare(Options& options) override {
    options.flag("--json", arguments_.json, "Print the outcome as JSON");
    options.required("RUN", run_, "Run directory");
    options.rest("OVERRIDE", arguments_.overrides, kOverrideHelp);
  }

  int run(const GlobalOptions& global) override {
    arguments_.file = recipe_file_of(run_);
    return run_by_recipe(arguments_, {.out = run_, .resume = true, .command = global.command},
                         global);
  }

 private:
  std::string run_;
  RecipeArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> resume_command() { return std::make_unique<Resume>(); }

}  // namespace gh::host
