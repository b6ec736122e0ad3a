// What a study still has to do, and what that takes: rows and seeds become jobs, those that train
// alike share a beginning, and each is compared with what lies in the study's directory.
#pragma once

#include "report/study_summary.hpp"
#include "study/cost.hpp"
#include "study/data_facts.hpp"
#include "study/expansion.hpp"
#include "study/identity.hpp"
#include "study/job_list.hpp"
#include "study/study_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gh::host {

struct PlanRequest {
  const StudyFile& study;
  const std::vector<StudyRow>& rows;
  std::vector<int64_t> seeds;
  std::filesystem::path directory;        // of the study
  std::string scale;                      // its name; empty: none
  std::vector<std::string> plugins;       // files given by --plugin
  std::vector<std::string> plugin_rules;  // --locked, --pass-over
  DataFacts& data;
  PluginOf plugin_of;
  Builds builds = Builds::by_version;
};

// A job as it is, beside JobList::jobs.
struct PlannedJob {
  ArmState state = ArmState::fresh;
  std::string why;  // it failed
  int64_t epochs_done = 0;
  int64_t steps = 0;    // to the end, without those of `from`
  std::size_t row = 0;  // in PlanRequest::rows: whose recipe it has
  std::string cost_class;
  // Of a new one: the run of the study that is nearest to it, and in what they differ. Empty where
  // there is none to compare it with.
  std::string nearest;
  std::vector<Difference> differences;
};

struct StudyPlan {
  JobList list;
  std::vector<PlannedJob> jobs;
  std::vector<std::string> dropped;  // run directories that no row has any more; they stay
  int64_t epochs_saved = 0;          // by what is shared
  // Of what is left, one run after the other; filled in by estimate().
  struct Left {
    int64_t runs = 0, epochs = 0, steps = 0;
    double seconds = 0;
    int64_t disk = 0, memory = 0;  // bytes of all; of the largest; 0: not known
    int64_t unknown = 0;           // runs of which no time is known
    int64_t finished = 0;          // runs that the times are of; 0: they were measured
  } left;
};

// Throws gh::Error (missing_data) that names the rows whose data are not there, and what reading
// the directory throws. Writes nothing.
StudyPlan make_plan(const PlanRequest& request);

// Tells `costs` of the runs that are finished.
void read_finished(const StudyPlan& plan, const std::filesystem::path& directory, Costs& costs);

// Sets Job::seconds and StudyPlan::left by what is known of costs.
void estimate(StudyPlan& plan, const Costs& costs);

// study.toml, recipes/ and jobs.json; that last, so that workers never see half of it.
void write_plan(const PlanRequest& request, const StudyPlan& plan);

}  // namespace gh::host
