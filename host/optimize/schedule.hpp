// Learning rates over the epochs of a stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gh::host {

struct Schedule {
  std::string id = "constant";  // constant, cosine, step, gh-two-stage
  double lr = 0.1;
  double lr_min = 0;
  int64_t warm_up = 0;        // epochs of linear growth
  double stage1_end = 0;      // gh-two-stage: rate at the end of the first cosine
  double stage2_start = 0;    // and at the start of the second
  int64_t stage2_begins = 0;  // epochs before the second: harmonize.warm_up
  int64_t epochs = 1;
  std::vector<int64_t> milestones = {};  // step: epochs after which the rate is multiplied by gamma
  double gamma = 0.1;
  bool per_step = false;

  // Rate of the step at `position` = epochs finished + part of this one that is done, from 0.
  // Unless per_step is set, every step of an epoch has the rate of that epoch, counted from 1 as
  // the published GH schedules count: the curve's value at the epoch's end. A cosine of a single
  // epoch, or whose warm-up lasts to the end, stays at lr: its end would be all there is of it.
  double rate(double position) const;

 private:
  double curve(double e) const;  // after e epochs
  double stepped(double position) const;
  bool has_no_descent() const;  // of a cosine by epochs
};

}  // namespace gh::host
