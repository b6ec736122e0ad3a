// Learning rates, set once an epoch.
#pragma once

#include <cstdint>
#include <string>

namespace gh::host {

struct Schedule {
  std::string id = "constant";  // constant, cosine, gh-two-stage
  double lr = 0.1;
  double lr_min = 0;
  int64_t warm_up = 0;        // epochs of linear growth
  double stage1_end = 0;      // gh-two-stage: rate at the end of the first cosine
  double stage2_start = 0;    // and at the start of the second
  int64_t stage2_begins = 0;  // epochs before the second: harmonize.warm_up
  int64_t epochs = 1;

  // Rate of an epoch counted from 0.
  double rate(int64_t epoch) const;
};

}  // namespace gh::host
