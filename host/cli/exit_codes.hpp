// How ghhost ends: sysexits where they fit, so that scripts can tell a typo from a full disk.
#pragma once

#include "gh/error.hpp"

namespace gh::host {

enum ExitCode : int {
  kOk = 0,
  kRunFailed = 1,
  kEvaluationFailed = 3,  // trained to the end, but an evaluation has no result
  kUsage = 64,            // wrong arguments
  kBadData = 65,
  kMissingInput = 66,  // recipe or data not there
  kInternal = 70,
  kIo = 74,
  kInterrupted = 75,  // stopped by a signal, state saved
  kBadRecipe = 78,    // recipe or plugin refused
};

inline int exit_code_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_param:
      return kBadRecipe;
    case ErrorCode::missing_data:
      return kMissingInput;
    case ErrorCode::io:
      return kIo;
    case ErrorCode::internal:
      return kInternal;
    case ErrorCode::interrupted:
      return kInterrupted;
    default:
      return kRunFailed;
  }
}

}  // namespace gh::host
