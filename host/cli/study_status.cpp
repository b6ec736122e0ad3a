// ghhost study status DIR.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/study_files.hpp"
#include "cli/study_text.hpp"
#include "cli/work_on_study.hpp"
#include "machine/interrupt.hpp"
#include "report/format.hpp"
#include "run/standard_streams.hpp"
#include "study/progress.hpp"
#include "study/worker.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"

#include "gh/interrupt.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>
#include <thread>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

bool is_over(const StudySummary& study) {
  return count_state(study, ArmState::done) + count_state(study, ArmState::failed) ==
         study.runs.size();
}

// Lines of a list that fit the terminal below the others.
std::size_t lines_that_fit() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return known ? std::max<std::size_t>(3, size.ws_row / 3U) : 10;
}

// That text takes on the terminal: long lines go on in the next.
int64_t rows_of(const std::string& text) {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const std::size_t width = known ? size.ws_col : 80;
  std::istringstream lines(text);
  int64_t rows = 0;
  for (std::string line; std::getline(lines, line);)
    rows += static_cast<int64_t>(1 + (std::max<std::size_t>(1, display_width(line)) - 1) / width);
  return rows;
}

class StudyStatus final : public Command {
 public:
  StudyStatus()
      : Command({"study status", "How far a study is, what runs and what failed",
                 "Examples:\n"
                 "  ghhost study status studies/figure-5-w\n"
                 "  ghhost study status studies/figure-5-w --watch\n"
                 "Looks at files only: works from any machine, also while nobody works. Brings "
                 "study.html\n"
                 "and the tables beside it up to date."}) {}

  void declare(Options& options) override {
    options.required("DIR", study_, "Directory of the study");
    options.flag("--watch", watch_, "Show it anew every second until all is done; on a terminal");
    options.flag("--json", json_, "Print it as JSON");
  }

  int run(const GlobalOptions&) override {
    const fs::path study = study_directory(study_);
    const JobList jobs = read_jobs(study);
    Leases leases(leases_of(study));
    if (watch_ && !json_ && ::isatty(STDOUT_FILENO) == 1) return watch(study, jobs, leases);
    const StudySummary summary = summarize(study, jobs, leases);
    write_study_files(summary);
    if (json_)
      print_result("{}\n", json_text(status_json(summary), 2));
    else
      print_result("{}", study_text(summary));
    return kOk;
  }

 private:
  // Each picture replaces the one before it.
  static int watch(const fs::path& study, const JobList& jobs, Leases& leases) {
    const InterruptGuard interrupts;
    int64_t lines = 0;
    for (;;) {
      const StudySummary summary = summarize(study, jobs, leases);
      const std::string text = printable(study_text(summary, lines_that_fit()));
      std::string picture = lines > 0 ? "\x1b[" + std::to_string(lines) + "F\x1b[J" : "";
      write_output(picture + text);
      std::fflush(stdout);
      lines = rows_of(text);
      if (is_over(summary)) return kOk;
      for (int tenth = 0; tenth < 10; ++tenth) {
        if (gh::interrupted()) return kInterrupted;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

  std::string study_;
  bool watch_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> study_status_command() { return std::make_unique<StudyStatus>(); }

}  // namespace gh::host
