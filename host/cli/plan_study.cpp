#include "cli/plan_study.hpp"

#include "cli/named_plugins.hpp"
#include "cli/read_study.hpp"
#include "cli/study_data.hpp"
#include "files/file_write.hpp"
#include "run/standard_streams.hpp"
#include "study/calibrate.hpp"

#include "gh/error.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <system_error>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTrials = 12;  // of a few seconds each

// studies/<name>, with the scale: both may lie side by side.
fs::path default_directory(const LoadedStudy& study) {
  std::string name;
  const std::string scale = study.scale ? " " + study.scale->name : "";
  for (const unsigned char c : study.file.name + scale)
    if (std::isalnum(c) || (c == '.' && !name.empty()))
      name += static_cast<char>(std::tolower(c));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  while (name.ends_with('-')) name.pop_back();
  return fs::path("studies") / (name.empty() ? "study" : name);
}

// Of the study that is planned there already; empty where there is none, or it can only be planned
// anew.
std::string name_there(const fs::path& directory) {
  try {
    return read_jobs(directory).name;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return "";
  }
}

// One that holds another study stays as it is.
fs::path directory_for(const LoadedStudy& study, const std::string& out) {
  const fs::path directory =
      fs::absolute(out.empty() ? default_directory(study) : fs::path(out)).lexically_normal();
  const std::string there = name_there(directory);
  require(there.empty() || there == study.file.name, ErrorCode::invalid_param, directory.string(),
          " holds the study \"", there, "\"; give \"", study.file.name, "\" another --out");
  std::error_code error;
  fs::create_directories(directory, error);
  require(!error, ErrorCode::io, "cannot create ", directory.string(), ": ", error.message());
  if (::access(directory.c_str(), W_OK) != 0) fail_io("cannot write in", directory);
  return directory;
}

std::vector<std::string> absolute(const std::vector<std::string>& plugins) {
  std::vector<std::string> out;
  for (const std::string& plugin : plugins) out.push_back(fs::absolute(plugin).string());
  return out;
}

// Of each kind of run that is still to be made and of which none is finished.
void calibrate(const PlanRequest& request, StudyPlan& plan, Costs& costs) {
  std::map<std::string, std::size_t> classes;  // → a row
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    const PlannedJob& job = plan.jobs[i];
    if (job.state != ArmState::done && !costs.of(job.cost_class))
      classes.emplace(job.cost_class, job.row);
  }
  const Trial trial{.program = fs::read_symlink("/proc/self/exe"),
                    .plugins = request.plugins,
                    .plugin_rules = request.plugin_rules};
  const std::size_t count = std::min(kMostTrials, classes.size());
  std::size_t number = 0;
  for (const auto& [name, row] : classes) {
    if (number++ == count) break;
    print_message("Measuring how fast this machine is, {} of {}: {}\n", number, count,
                  request.rows[row].label);
    std::string why;
    if (const std::optional<Cost> cost = measure(request.rows[row].recipe, trial, why))
      costs.set_measured(name, *cost);
    else
      print_message("  cannot be measured: {}\n", why);
  }
  costs.save();
  estimate(plan, costs);
}

}  // namespace

void declare_planning(Options& options, StudyToPlan& wanted, const char* study) {
  options.required("STUDY", wanted.file, study);
  options.text("--out", "DIR", wanted.out, "Directory of the study; default: studies/<name>");
  options.text(
      "--scale", "SCALE", wanted.scale,
      "Shrink every arm in proportion: \"small\", a [scale.NAME] of the study, or a part of "
      "the epochs such as 0.1");
  options.flag("--strict-builds", wanted.strict_builds,
               "A plugin that was compiled again is another one: its runs are new");
  options.flag("--no-calibration", wanted.no_calibration,
               "Start no run to see how fast this machine is");
}

std::optional<PlannedStudy> plan_study(const StudyToPlan& wanted, const GlobalOptions& global) {
  Registry registry = open_registry(global);
  Diagnostics diagnostics;
  const LoadedStudy study = load_study(wanted.file, wanted.scale, registry, diagnostics);
  print_message("{}", diagnostics.text());
  if (diagnostics.has_errors()) return std::nullopt;
  const fs::path directory = directory_for(study, wanted.out);
  DataFacts data(directory / "data.json",
                 [&](const Recipe& recipe) { return read_data_fact(recipe, registry); });
  const PlanRequest request{.study = study.file,
                            .rows = study.rows,
                            .seeds = study.seeds,
                            .directory = directory,
                            .scale = study.scale ? study.scale->name : "",
                            .plugins = absolute(global.plugins),
                            .plugin_rules = plugin_rules(global),
                            .data = data,
                            .plugin_of = plugins_of(registry),
                            .builds = wanted.strict_builds ? Builds::strict : Builds::by_version};
  PlannedStudy out{.directory = directory, .plan = make_plan(request)};
  data.save();
  Costs costs(directory / "costs.json");
  read_finished(out.plan, directory, costs);
  estimate(out.plan, costs);
  if (!wanted.no_calibration) calibrate(request, out.plan, costs);
  write_plan(request, out.plan);
  return out;
}

}  // namespace gh::host
