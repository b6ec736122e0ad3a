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
      : Command({"resume", "Go on with a run that was stopped, bit for bit",
                 "Examples:\n"
                 "  ghhost resume runs/toy-001\n"
                 "  ghhost resume runs/toy-001 loader.on_error=skip\n"
                 "May be changed: loader, train.threads, checkpoint."}) {}

  void declare(Options& options) override {
    options.flag("--json", json_, "Print the outcome as JSON");
    options.required("RUN", run_, "Run directory");
    options.rest("OVERRIDE", overrides_,
                 "Changes: a.b=value sets, +a.b=value adds, ~a.b removes; values are TOML");
  }

  int run(const GlobalOptions& global) override {
    return run_by_recipe(recipe_file_of(run_), overrides_,
                         {.out = run_, .resume = true, .command = global.command}, global, json_);
  }

 private:
  std::string run_;
  std::vector<std::string> overrides_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> resume_command() { return std::make_unique<Resume>(); }

}  // namespace gh::host
