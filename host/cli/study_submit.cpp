// ghhost study submit DIR.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "files/file_write.hpp"
#include "run/standard_streams.hpp"
#include "study/engine.hpp"

#include "gh/error.hpp"

#include <sys/wait.h>
#include <cstdlib>
#include <filesystem>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

// A worker as somebody else has to start it, from wherever that may be.
std::vector<std::string> worker_command(const fs::path& study, const GlobalOptions& global) {
  std::vector<std::string> command = {fs::read_symlink("/proc/self/exe").string()};
  for (const std::string& plugin : global.plugins) {
    command.push_back("--plugin");
    command.push_back(fs::absolute(plugin).string());
  }
  const std::vector<std::string> rules = plugin_rules(global);
  command.insert(command.end(), rules.begin(), rules.end());
  command.insert(command.end(), {"study", "work", study.string()});
  return command;
}

class StudySubmit final : public Command {
 public:
  StudySubmit()
      : Command({"study submit", "Hand workers of a study to a cluster, and leave",
                 "Examples:\n"
                 "  ghhost study submit DIR --engine recipes/engines/slurm.toml --workers 8 "
                 "--limit 4 time=4:00:00\n"
                 "  ghhost study submit DIR --engine recipes/engines/parallel.toml --print\n"
                 "An engine is a file: docs/studies.md. The exit code is that of its command."}) {}

  void declare(Options& options) override {
    options.required("DIR", study_, "Directory of the study");
    options.rest("VALUE", set_, "Changes to [values] of the engine: time=4:00:00");
    options.text("--engine", "FILE", engine_, "How workers are handed over");
    options.number("--workers", 1, 100'000, workers_, "How many");
    options.number("--limit", 0, 100'000, limit_, "So many at a time; 0: all");
    options.flag("--print", print_, "Print what would be handed over, and how; do nothing");
  }

  int run(const GlobalOptions& global) override {
    if (engine_.empty()) {
      print_message("ghhost: which engine? Write --engine recipes/engines/slurm.toml\n");
      return kUsage;
    }
    const fs::path study = fs::absolute(study_).lexically_normal();
    require(fs::is_directory(study), ErrorCode::missing_data, study.string(),
            " is no directory; `ghhost study plan` makes that of a study");
    Diagnostics diagnostics;
    const Engine engine = read_engine(engine_, diagnostics);
    print_message("{}", diagnostics.text());
    if (diagnostics.has_errors()) return kBadRecipe;
    const fs::path named = study.has_filename() ? study : study.parent_path();
    const Submission submission = fill(engine, {.study = named,
                                                .name = named.filename().string(),
                                                .command = worker_command(named, global),
                                                .count = workers_,
                                                .limit = limit_,
                                                .set = set_});
    return print_ ? show(submission) : submit(submission);
  }

 private:
  static int show(const Submission& submission) {
    print_result("# {}\n", submission.file.string());
    write_output(submission.text);
    print_result("\n# sh\n");
    write_output(submission.command);
    return kOk;
  }

  static int submit(const Submission& submission) {
    fs::create_directories(submission.file.parent_path());
    write_file_atomically(submission.file, submission.text);
    const int status = std::system(submission.command.c_str());
    require(status != -1, ErrorCode::io, "cannot start a shell");
    return WIFEXITED(status) ? WEXITSTATUS(status) : kRunFailed;
  }

  std::string study_, engine_;
  std::vector<std::string> set_;
  int64_t workers_ = 1, limit_ = 0;
  bool print_ = false;
};

}  // namespace

std::unique_ptr<Command> study_submit_command() { return std::make_unique<StudySubmit>(); }

}  // namespace gh::host
