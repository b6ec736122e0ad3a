// Working on a planned study: for `study run` and `study work`.
#pragma once

#include "cli/command.hpp"
#include "study/job_list.hpp"

#include <cstdint>
#include <filesystem>

namespace gh::host {

struct StudyWork {
  std::filesystem::path study;  // absolute
  int64_t slots = 0;            // at a time; 0: one, or one a GPU where its runs use them
  bool fail_fast = false;
};

// Until nothing is left to do or somebody wants it to stop. Prints what happens, at the end what
// failed and why. Returns the study's exit code: kOk, kEvaluationFailed where that is all that
// failed, kInterrupted, kRunFailed.
int work_on_study(const JobList& planned, const StudyWork& work, const GlobalOptions& global);

// So many runs at a time as `work` asks for on this machine.
int64_t slots_here(const JobList& jobs, const StudyWork& work);

// Absolute, without a slash at its end. Throws gh::Error (missing_data) where there is none.
std::filesystem::path study_directory(const std::filesystem::path& named);

}  // namespace gh::host
