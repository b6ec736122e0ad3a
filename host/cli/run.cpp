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
      : Command(
            {"run", "Train and evaluate what a recipe says",
             "Examples:\n"
             "  ghhost run recipes/toy.toml\n"
             "  ghhost run recipes/toy/r64-simclr.toml seed=1 --out runs/simclr-64\n"
             "  ghhost run recipes/toy.toml --out runs/start --until 40\n"
             "  ghhost run recipes/toy.toml harmonize.weight=2 --out runs/two --fork runs/start\n"
             "Exit codes: 0 done, or stopped by --until, 3 trained to the end, but an evaluation "
             "failed, 75 stopped by a "
             "signal,\n"
             "78 recipe or plugin refused, 66 data missing, 74 reading or writing failed, 64 "
             "wrong\n"
             "arguments, 1 anything else."}) {}

  void declare(Options& options) override {
    options.required("RECIPE", recipe_, "Recipe file");
    options.rest("OVERRIDE", overrides_,
                 "Changes: a.b=value sets, +a.b=value adds, ~a.b removes; values are TOML");
    options.text("--scale", "SCALE", scale_, kScaleHelp);
    options.flag("--json", json_, "Print the outcome as JSON");
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
    return run_by_recipe(recipe_, overrides_,
                         {.out = out_,
                          .resume = resume_,
                          .fork = fork_,
                          .until = until_ > 0 ? std::optional(until_) : std::nullopt,
                          .command = global.command},
                         global, json_, scale_);
  }

 private:
  std::string recipe_, out_, scale_, fork_;
  int64_t until_ = 0;
  std::vector<std::string> overrides_;
  bool json_ = false, resume_ = false;
};

}  // namespace

std::unique_ptr<Command> run_command() { return std::make_unique<Run>(); }

}  // namespace gh::host
