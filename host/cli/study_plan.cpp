// ghhost study plan STUDY.toml.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/plan_study.hpp"
#include "cli/plan_text.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

namespace gh::host {
namespace {

class StudyPlanCommand final : public Command {
 public:
  StudyPlanCommand()
      : Command({"study plan", "Show what a study has to do and what that takes, and prepare it",
                 "Examples:\n"
                 "  ghhost study plan recipes/paper/figure-01-toy.toml\n"
                 "  ghhost study plan recipes/paper/table-02-main-cifar.toml --scale small\n"
                 "Writes DIR, which is all that workers need, and trains nothing. Planning again "
                 "after the\n"
                 "file has changed keeps what is done. The file's format: docs/studies.md.\n"
                 "Exit codes: 0, 78 the study or an arm of it refused, 66 data missing, 74 reading "
                 "or writing\n"
                 "failed."}) {}

  void declare(Options& options) override {
    declare_planning(options, wanted_, "Study file");
    options.flag("--json", json_, "Print the plan as JSON");
  }

  int run(const GlobalOptions& global) override {
    const std::optional<PlannedStudy> study = plan_study(wanted_, global);
    if (!study) return kBadRecipe;
    if (json_)
      write_output(json_text(plan_json(*study), 2) + "\n");
    else
      print_result("{}", plan_text(*study));
    return kOk;
  }

 private:
  StudyToPlan wanted_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> study_plan_command() { return std::make_unique<StudyPlanCommand>(); }

}  // namespace gh::host
