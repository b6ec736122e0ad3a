// Bytes, and numbers to damage them by.
#pragma once

#include <cstdint>
#include <vector>

namespace gh::test {

using Bytes = std::vector<uint8_t>;

// The same numbers everywhere and for ever: SplitMix64.
class NumberSource {
 public:
  explicit NumberSource(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int below(int limit) { return static_cast<int>(next() % static_cast<uint64_t>(limit)); }

 private:
  uint64_t state_;
};

}  // namespace gh::test
