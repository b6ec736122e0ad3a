// ghhost study STUDY.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/plan_study.hpp"
#include "cli/plan_text.hpp"
#include "cli/work_on_study.hpp"
#include "report/format.hpp"
#include "run/standard_streams.hpp"
#include "study/progress.hpp"
#include "study/worker.hpp"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr double kLong = 24 * 3600;  // seconds, from which on somebody has to agree

class StudyRun final : public Command {
 public:
  StudyRun()
      : Command(
            {"study run", "Train what a study still needs, on this machine",
             "Examples:\n"
             "  ghhost study recipes/paper/figure-05-weight.toml\n"
             "  ghhost study studies/figure-5-w --jobs 4 --retry-failed\n"
             "`ghhost study STUDY` is the same. Stop it as you like, and type it again to go on."
             "\n"
             "Exit codes: 0 all done, 3 trained to the end, but evaluations failed, 1 runs "
             "failed, 75 stopped by a\n"
             "signal, everything saved."}) {}

  void declare(Options& options) override {
    declare_planning(options, wanted_, "Study file, or the directory of a planned study");
    options.number("--jobs", 0, 4096, work_.slots,
                   "Runs at a time, which share the cores; 0: one, or one a GPU");
    options.flag("--yes", yes_, "Begin days of work without asking");
    options.flag("--fail-fast", work_.fail_fast, "Stop all runs when one has failed");
    options.flag("--retry-failed", retry_failed_, "Try again what failed for good before");
  }

  int run(const GlobalOptions& global) override {
    if (fs::is_directory(wanted_.file)) {  // as it was planned
      work_.study = study_directory(wanted_.file);
    } else {
      const std::optional<PlannedStudy> planned = plan_study(wanted_, global);
      if (!planned) return kBadRecipe;
      print_message("{}", plan_text(*planned));
      work_.study = planned->directory;
    }
    const JobList jobs = read_jobs(work_.study);
    if (retry_failed_)
      print_message("{} of the runs that failed are tried again\n",
                    forgive_failed(jobs, work_.study));
    if (!yes_ && !agreed(jobs)) return kUsage;
    return work_on_study(jobs, work_, global);
  }

 private:
  bool agreed(const JobList& jobs) const {
    const std::optional<double> seconds = seconds_of_work(work_.study, jobs);
    const double expected = seconds.value_or(0) / static_cast<double>(slots_here(jobs, work_));
    if (expected < kLong) return true;
    print_message("This will take about {}.", format_duration(expected));
    if (::isatty(STDIN_FILENO) != 1) {
      print_message(" Add --yes to begin.\n");
      return false;
    }
    print_message(" Begin? [y/N] ");
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
  }

  StudyToPlan wanted_;
  StudyWork work_;
  bool yes_ = false, retry_failed_ = false;
};

}  // namespace

std::unique_ptr<Command> study_run_command() { return std::make_unique<StudyRun>(); }

}  // namespace gh::host
