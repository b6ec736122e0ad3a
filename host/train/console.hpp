// What a run shows on the terminal: a line that redraws itself, or plain lines now and then where
// nobody watches.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace gh::host {

class Console {
 public:
  // Looks at stderr: a terminal gets the redrawing line, colour unless NO_COLOR is set. A quiet one
  // (ranks but the first) says nothing.
  explicit Console(bool quiet = false);
  void say(std::string_view line);  // a line that stays
  void warn(std::string_view line);

  struct Tick {
    std::string stage;
    int64_t epoch = 0, epochs = 0;  // epochs finished
    double part = 0;                // of the epoch that runs
    double loss = 0, rate = 0;
    double samples_per_second = 0;
    double waiting = 0;       // part of the time spent waiting for data
    double seconds_left = 0;  // of the stage
    int64_t memory = 0;       // bytes this process holds
  };
  void tick(const Tick& tick);
  void finish();  // ends the redrawing line

 private:
  using Clock = std::chrono::steady_clock;
  void clear_line();
  bool quiet_;
  bool terminal_;
  bool color_;
  bool line_open_ = false;
  int64_t plain_epoch_ = 0;  // of the last plain line
  Clock::time_point drawn_ = Clock::now();
};

}  // namespace gh::host
