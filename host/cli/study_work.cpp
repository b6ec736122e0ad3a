// ghhost study work DIR.
#include "cli/commands.hpp"
#include "cli/work_on_study.hpp"
#include "study/job_list.hpp"

namespace gh::host {
namespace {

class StudyWorkCommand final : public Command {
 public:
  StudyWorkCommand()
      : Command({"study work", "Work on a planned study, beside any number of others",
                 "Examples:\n"
                 "  ghhost study work studies/figure-5-w\n"
                 "  ghhost study work /shared/figure-5-w --slots 4\n"
                 "Needs the directory only, which any number of machines may share. Ends when "
                 "nothing is left to do.\n"
                 "Exit codes: 0 all done, 3 trained to the end, but evaluations failed, 1 runs "
                 "failed, 75 stopped by a\n"
                 "signal: runs have saved, and whoever works next goes on with them."}) {}

  void declare(Options& options) override {
    options.required("DIR", study_, "Directory of the study");
    options.number("--slots", 0, 4096, slots_,
                   "Runs at a time, which share the cores; 0: one, or one a GPU");
  }

  int run(const GlobalOptions& global) override {
    const StudyWork work{.study = study_directory(study_), .slots = slots_};
    return work_on_study(read_jobs(work.study), work, global);
  }

 private:
  std::string study_;
  int64_t slots_ = 1;
};

}  // namespace

std::unique_ptr<Command> study_work_command() { return std::make_unique<StudyWorkCommand>(); }

}  // namespace gh::host
