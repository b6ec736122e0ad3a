// When evaluators are called: training says so, and whoever holds them knows which are due.
#pragma once

#include <cstdint>
#include <string>

namespace gh::host {

struct EvaluationMoment {
  std::string name;         // "start", "epoch", "warm-up", "end"
  int64_t epochs = 0;       // done
  int64_t step = 0;         // optimiser steps done
  bool last = false;        // no epoch follows
  bool warm_up = false;     // the warm-up ends here
  bool harmonized = false;  // GH was past its warm-up in the epoch trained last
};

}  // namespace gh::host
