#include "report/study_summary.hpp"

#include <algorithm>

namespace gh::host {

std::string_view arm_state_name(ArmState state) {
  switch (state) {
    case ArmState::fresh:
      return "new";
    case ArmState::running:
      return "running";
    case ArmState::done:
      return "done";
    case ArmState::failed:
      return "failed";
    case ArmState::resumable:
      return "resumable";
  }
  return "new";
}

std::size_t count_state(const StudySummary& study, ArmState state) {
  return static_cast<std::size_t>(
      std::count_if(study.runs.begin(), study.runs.end(),
                    [&](const RunOfStudy& run) { return run.state == state; }));
}

}  // namespace gh::host
