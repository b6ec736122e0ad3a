// Says in words when something about GH is off. Each kind of warning comes once a run.
#pragma once

#include "harmonize/surrogate_statistics.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gh::host {

// Before training: what these numbers cannot do together; empty when all is well.
std::string coverage_warning(int64_t points, int64_t batch);

class HarmonyWatch {
 public:
  // After an epoch with GH. `residual` is what the allocator reported on average, NaN when it
  // reports none.
  std::vector<std::string> look(const SurrogateStatistics& statistics, double residual);

 private:
  bool told_collapse_ = false, told_residual_ = false;
  int64_t epochs_ = 0;
  double first_residual_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace gh::host
