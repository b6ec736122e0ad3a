// When a loop gives up because somebody wants the program to stop. It may be a part of a training
// step, which costs all that was learnt after the last checkpoint when it is cut off: so a loop
// that will soon be done is left alone; one that has gone on for a second may go on for hours.
#pragma once

#include "gh/interrupt.hpp"

#include <chrono>

namespace gh {
inline namespace v1 {
namespace ops {

class Patience {
 public:
  // Any thread; as cheap as reading a variable unless asked to stop. Once true, it stays so.
  bool over() const {
    return interrupted() && std::chrono::steady_clock::now() - began_ > std::chrono::seconds(1);
  }
  // Throws Error (interrupted) when over(). Once a round.
  void check() const {
    if (over()) throw_if_interrupted();
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace ops
}  // namespace v1
}  // namespace gh
