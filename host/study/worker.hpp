// A worker of a study: runs jobs, one a slot, until all are settled. It knows nothing but the
// study's directory, and shares it with any number of others (study/lease.hpp).
#pragma once

#include "study/job_list.hpp"
#include "study/lease.hpp"
#include "study/running_program.hpp"
#include "study/slots.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gh::host {

struct WorkRules {
  std::filesystem::path study;
  std::vector<RunSlot> slots;
  // How a job is run; the worker adds the log.
  std::function<RunningProgram::Start(const Job&, const RunSlot&)> start;
  std::function<void(const std::string&)> tell;  // one line on what happens
  std::function<void()> meanwhile = [] {};       // called all the time; returns soon
  LeaseRules lease = {};
  bool fail_fast = false;  // stop when one has failed
};

enum class WorkEnd {
  settled,      // nothing is left to do
  interrupted,  // gh::interrupted(): children have saved
  failed_fast,  // so have they
};

// The thread that calls this is the one its children live with. Throws gh::Error (io) where the
// directory cannot be read or written, (invalid_param) for jobs that wait for what is not there.
WorkEnd work(const JobList& jobs, const WorkRules& rules);

// Forgets the failures of all jobs that failed for good, so that they are tried again. Returns how
// many these are; what somebody works on is left alone. Throws as work().
std::size_t forgive_failed(const JobList& jobs, const std::filesystem::path& study);

// Forgets that jobs are done whose run directories somebody has removed, so that they are trained
// again; of trunks only those that jobs which are left to do begin with. Otherwise as above.
std::size_t forget_removed(const JobList& jobs, const std::filesystem::path& study);

// Of a study's directory.
std::filesystem::path outcomes_of(const std::filesystem::path& study);
std::filesystem::path leases_of(const std::filesystem::path& study);

// Whether it was trained, and somebody has removed its run directory.
bool is_removed(const std::filesystem::path& study, const Job& job, Verdict verdict);

// "GH, w = 0.5, seed 1": a job for people.
std::string name_of(const Job& job);

// Arguments of `ghhost` that run a job of a study: by its recipe, in its directory, going on with
// what is there, or else with what the job has that it begins with.
std::vector<std::string> run_arguments(const JobList& jobs, const std::filesystem::path& study,
                                       const Job& job);

}  // namespace gh::host
