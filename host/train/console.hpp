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
  // Looks at stderr: a terminal gets the redrawing line, colour unless NO_COLOR is set.
  Console();
  void say(std::string_view line);  // a line that stays
  void warn(std::string_view line);

  struct Tick {
    std::string stage;
    int64_t epoch = 0, epochs = 0;  // epochs finished
    double loss = 0, rate = 0;
    double samples_per_second = 0;
    double waiting = 0;  // part of the time spent waiting for data
  };
  void tick(const Tick& tick);
  void finish();  // ends the redrawing line

 private:
  using Clock = std::chrono::steady_clock;
  void clear_line();
  bool terminal_;
  bool color_;
  bool line_open_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace gh::host
