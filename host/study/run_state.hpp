// How far the run of a job is, by what it and its workers left behind.
#pragma once

#include "report/study_summary.hpp"
#include "study/job_list.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace gh::host {

struct RunState {
  ArmState state = ArmState::fresh;
  std::string why;     // it failed
  int64_t epochs = 0;  // done, of the stage it is in
};

// By DIR/outcomes, where workers have tried it, or else by status.json of its directory: it runs if
// that was written within the last minute, by the clock of whoever wrote it.
RunState state_of(const std::filesystem::path& study, const Job& job, int64_t retries);

}  // namespace gh::host
