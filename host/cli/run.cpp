// ghhost run RECIPE.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/read_recipe.hpp"
#include "cli/run_by_recipe.hpp"

#include <optional>

namespace gh::host {
namespace {

class Run final : public Command {
 public:
  Run()
      : Command({"run", "Train and evaluate what a recipe says", R"(Examples:
  ghhost run recipes/toy.toml
  ghhost run recipes/toy/r64-simclr.toml seed=1 --out runs/simclr-64
  ghhost run recipes/toy.toml --out runs/start --until 40
  ghhost run recipes/toy.toml harmonize.weight=2 --out runs/two --fork runs/start
Exit codes: 0 done, or stopped by --until, 3 trained to the end, but an evaluation failed, 75
stopped by a signal, 78 recipe or plugin refused, 66 data missing, 74 reading or writing failed,
64 wrong arguments, 1 anything else.)"}) {}

  void declare(Options& options) override {
    arguments_.declare(options);
    options.text("--out", "DIR", out_, "Run directory, new or empty; default: runs/<name>-NNN");
    options.flag("--resume", resume_,
                 "Go on with the run in --out, or the last of its name, bit for bit; start one "
                 "where there is none");
    options.number("--until", 0, 1'000'000, until_,
                   "Stop after so many epochs, of all stages together, with a checkpoint that is "
                   "kept; 0: at the end");
    options.text("--fork", "RUN", fork_,
                 "A run that starts begins with what this one trained, up to where both recipes "
                 "train alike, with the same bytes as if it had trained that itself");
  }

  int run(const GlobalOptions& global) override {
    return run_by_recipe(arguments_,
                         {.out = out_,
                          .resume = resume_,
                          .fork = fork_,
                          .until = until_ > 0 ? std::optional(until_) : std::nullopt,
                          .command = global.command},
                         global);
  }

 private:
  RecipeArguments arguments_;
  std::string out_, fork_;
  int64_t until_ = 0;
  bool resume_ = false;
};

}  // namespace

std::unique_ptr<Command> run_command() { return std::make_unique<Run>(); }

}  // namespace gh::host
