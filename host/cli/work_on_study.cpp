#include "cli/work_on_study.hpp"

#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "cli/study_files.hpp"
#include "cli/study_text.hpp"
#include "machine/device.hpp"
#include "machine/interrupt.hpp"
#include "recipe/toml.hpp"
#include "run/standard_streams.hpp"
#include "study/lease.hpp"
#include "study/progress.hpp"
#include "study/slots.hpp"
#include "study/worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

// train.device of a job's recipe; "" where it cannot be read: its run will say so.
std::string device_of(const fs::path& recipe) {
  std::ifstream in(recipe, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  Diagnostics ignored;
  const std::optional<Table> table = parse_toml(text, recipe.string(), ignored);
  const Value* device = table ? find_path(*table, "train.device") : nullptr;
  const std::string* name = device ? device->as<std::string>() : nullptr;
  return name ? *name : "";
}

// Not where the recipe says itself which one.
bool takes_a_gpu(const fs::path& recipe) {
  const std::string device = device_of(recipe);
  return device == "cuda" || device == "auto";
}

// The list with the plugins of this command, too, and its rules in place of those it was planned
// with.
JobList with_plugins(JobList jobs, const GlobalOptions& global) {
  for (const std::string& plugin : global.plugins) {
    const std::string file = fs::absolute(plugin).string();
    if (std::find(jobs.plugins.begin(), jobs.plugins.end(), file) == jobs.plugins.end())
      jobs.plugins.push_back(file);
  }
  if (std::vector<std::string> rules = plugin_rules(global); !rules.empty())
    jobs.plugin_rules = std::move(rules);
  return jobs;
}

// This very program, also where the file it came from has been replaced.
RunningProgram::Start start_of(const JobList& jobs, const fs::path& study, const Job& job,
                               const RunSlot& slot) {
  RunningProgram::Start start{.program = "/proc/self/exe",
                              .arguments = run_arguments(jobs, study, job),
                              .cores = slot.cores};
  start.arguments.insert(start.arguments.begin(), "ghhost");
  if (!slot.gpu.empty() && takes_a_gpu(study / job.recipe))
    start.environment.emplace_back("CUDA_VISIBLE_DEVICES", slot.gpu);
  return start;
}

int exit_code_of(WorkEnd end, const StudySummary& study) {
  if (end == WorkEnd::interrupted) return kInterrupted;
  if (!study.problems.empty() || count_state(study, ArmState::failed) > 0) return kRunFailed;
  const bool evaluations = std::any_of(study.runs.begin(), study.runs.end(),
                                       [](const RunOfStudy& run) { return !run.failure.empty(); });
  return evaluations ? kEvaluationFailed : kOk;
}

}  // namespace

fs::path study_directory(const fs::path& named) {
  const fs::path path = fs::absolute(named).lexically_normal();
  require(fs::is_directory(path), ErrorCode::missing_data, path.string(),
          " is no directory; `ghhost study plan` makes that of a study");
  return path.has_filename() ? path : path.parent_path();
}

int64_t slots_here(const JobList& jobs, const StudyWork& work) {
  if (work.slots > 0) return work.slots;
  const int64_t gpus = cuda_devices();
  if (gpus < 2) return 1;
  const bool on_gpus = std::any_of(jobs.jobs.begin(), jobs.jobs.end(), [&](const Job& job) {
    return takes_a_gpu(work.study / job.recipe);
  });
  return on_gpus ? gpus : 1;
}

int work_on_study(const JobList& planned, const StudyWork& work, const GlobalOptions& global) {
  const JobList jobs = with_plugins(planned, global);
  const std::vector<std::string> gpus =
      gpu_names(cuda_devices(), std::getenv("CUDA_VISIBLE_DEVICES"));
  forget_removed(jobs, work.study);
  StudyFiles files(work.study, jobs);
  const WorkRules rules{
      .study = work.study,
      .slots = make_slots(slots_here(jobs, work), own_cores(), gpus),
      .start = [&](const Job& job,
                   const RunSlot& slot) { return start_of(jobs, work.study, job, slot); },
      .tell = [](const std::string& line) { print_message("{}\n", line); },
      .meanwhile = [&] { files.update(); },
      .fail_fast = work.fail_fast};
  WorkEnd end{};
  {
    const InterruptGuard interrupts;
    end = gh::host::work(jobs, rules);
  }
  Leases leases(leases_of(work.study));
  const StudySummary summary = summarize(work.study, jobs, leases);
  write_study_files(summary);
  print_result("{}", study_text(summary));
  print_result("Page: {}\nTable: {}\n", (work.study / "study.html").string(),
               (work.study / "table.md").string());
  if (end == WorkEnd::interrupted)
    print_result("Stopped by a signal. Go on with: ghhost study {}\n", work.study.string());
  return exit_code_of(end, summary);
}

}  // namespace gh::host
