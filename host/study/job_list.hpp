// A study once planned: what is to be trained, where, and after what. The planner writes it, workers
// and status read it; a worker needs nothing but the study's directory.
//
//   DIR/study.toml             the study file as it was planned, for people
//   DIR/jobs.json              this list
//   DIR/recipes/<id>.toml      the resolved recipe of a job
//   DIR/runs/<directory>       run directories, one a job
//   DIR/leases/                who works on what (study/lease.hpp)
//   DIR/outcomes/              how attempts ended (study/outcomes.hpp)
#pragma once

#include "report/study_summary.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

// One run directory. A job with `until` is a trunk: what several others train alike, and begin with.
struct Job : RowOfStudy {
  // Hexadecimal digits of what makes its numbers: resolved recipe, data, plugins with versions, seed.
  std::string id;
  std::string recipe;      // file, relative to the study's directory
  std::string directory;   // of the run, relative to the study's directory
  int64_t epochs = 0;      // of all stages, to the end
  int64_t until = 0;       // > 0: stop there, as others go on from it
  std::string from;        // id of the trunk it begins with; empty: none
  int64_t from_epoch = 0;  // at which
  double seconds = 0;      // what it is estimated to take, without what `from` saves
  // An earlier job has the same id: another row of the same run, which is trained once.
  bool repeated = false;
};

// Epochs that the job itself trains.
int64_t own_epochs(const Job& job);

struct JobList : StudyHeading {
  int64_t retries = 2;  // further attempts where an exit code leaves hope
  std::string scale;    // what it was planned with: "small"; empty: as it is written
  // Files given by --plugin, absolute: workers load them, too.
  std::vector<std::string> plugins;
  // --locked and --pass-over, likewise.
  std::vector<std::string> plugin_rules;
  std::vector<Job> jobs;  // runs in the order of the file, seeds of an arm together; trunks first

  const Job* find(const std::string& id) const;  // the first of that id, or null
  // Sets Job::repeated.
  void mark_repeated();
};

// Throws gh::Error: missing_data where there is none, invalid_param where it is damaged. Jobs that
// were repeated are marked.
JobList read_jobs(const std::filesystem::path& study);
// Several may plan the same study at once: the last list stays, whole.
void write_jobs(const std::filesystem::path& study, const JobList& jobs);

}  // namespace gh::host
