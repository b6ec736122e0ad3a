// Runs kernels with the threads of a block in different orders.
#pragma once

#include "cuda/emulator.hpp"

#include <catch2/catch.hpp>

namespace gh::test {

// What `work` gives with threads in order, which is also required in reverse and in a shuffled
// order: where a barrier is missing, some order reads a value before it is written.
template <class Work>
auto same_in_all_orders(Work&& work) {
  emulator::machine.order = emulator::Order::reverse;
  const auto reverse = work();
  emulator::machine.order = emulator::Order::shuffled;
  const auto shuffled = work();
  emulator::machine.order = emulator::Order::forward;
  const auto forward = work();
  CHECK(forward == reverse);
  CHECK(forward == shuffled);
  return forward;
}

}  // namespace gh::test
