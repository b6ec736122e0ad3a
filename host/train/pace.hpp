// How fast a stage goes: speed of the epoch that runs, and time left at the pace so far.
#pragma once

#include <chrono>
#include <cstdint>

namespace gh::host {

class Pace {
 public:
  Pace(int64_t steps_in_stage, int64_t steps_done, double waited)
      : steps_(steps_in_stage), done_(steps_done), waited_before_(waited), waited_(waited) {}

  void step(int64_t samples, double waited) {
    samples_ += samples;
    waited_ = waited;
    ++made_;
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }
  double waited() const { return waited_ - waited_before_; }
  double samples_per_second() const { return static_cast<double>(samples_) / positive(seconds()); }
  double waiting() const { return waited() / positive(seconds()); }
  double seconds_left() const {
    const int64_t left = steps_ - done_ - made_;
    return made_ > 0 ? seconds() / static_cast<double>(made_) * static_cast<double>(left) : 0;
  }

 private:
  static double positive(double seconds) { return seconds > 1e-9 ? seconds : 1e-9; }
  int64_t steps_, done_, made_ = 0, samples_ = 0;
  double waited_before_, waited_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace gh::host
