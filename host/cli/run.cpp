// ghhost run RECIPE.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/read_recipe.hpp"
#include "cli/run_by_recipe.hpp"

namespace gh::host {
namespace {

class Run final : public Command {
 public:
  Run()
      : Command({"run", "Train and evaluate what a recipe says", R"(Examples:
  ghhost run recipes/toy.toml
  ghhost run recipes/toy/r64-simclr.toml seed=1 --out runs/simclr-64
Exit codes: 0 done, 3 trained to the end, but an evaluation failed, 75 stopped by a signal,
78 recipe or plugin refused, 66 data missing, 74 reading or writing failed, 64 wrong
arguments, 1 anything else.)"}) {}

  void declare(Options& options) override {
    arguments_.declare(options);
    options.text("--out", "DIR", out_, "Run directory, new or empty; default: runs/<name>-NNN");
    options.flag("--resume", resume_,
                 "Go on with the run in --out, or the last of its name, bit for bit; start one "
                 "where there is none");
  }

  int run(const GlobalOptions& global) override {
    return run_by_recipe(arguments_, {.out = out_, .resume = resume_, .command = global.command},
                         global);
  }

 private:
  RecipeArguments arguments_;
  std::string out_;
  bool resume_ = false;
};

}  // namespace

std::unique_ptr<Command> run_command() { return std::make_unique<Run>(); }

}  // namespace gh::host
