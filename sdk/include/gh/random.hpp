// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011). A stream is a pure function of
// its key: no global state, the same draws on any thread and in any order of creation.
//
//   gh::Random random = host.random("queue");  // keyed by seed, component, purpose, step
//   random.fill_normal(queue, 0.0, 1.0);
//
// An object is one thread's; it is small and copied freely, and a copy goes on where it was taken.
#pragma once

#include "gh/export.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/Generator.h>
#include <array>
#include <cstdint>
#include <string_view>

namespace gh {
inline namespace v1 {

// Stable 64-bit hash of a text chained to `seed`, for naming streams.
GH_API uint64_t stream_key(uint64_t seed, std::string_view purpose) noexcept;

class GH_API Random {
 public:
  // Streams with different keys or different (stream) numbers do not overlap.
  explicit Random(uint64_t key, uint64_t stream = 0) noexcept;

  // A stream of its own, independent of draws made here.
  Random fork(std::string_view purpose) const noexcept;

  uint32_t bits32() noexcept;
  uint64_t bits64() noexcept;
  // Uniform in [0, 1), 53 bits.
  double uniform() noexcept;
  // Uniform in [low, high).
  double uniform(double low, double high) noexcept;
  // Normal with mean 0 and variance 1 (Box-Muller).
  double normal() noexcept;
  // Uniform in 0 … n-1, unbiased; n ≥ 1.
  int64_t below(int64_t n);
  // 0 … n-1 in random order, [n] int64, CPU.
  at::Tensor permutation(int64_t n);

  // Fill a tensor of any float dtype and device, row-major, without touching its autograd history.
  void fill_uniform(const at::Tensor& out, double low, double high);
  void fill_normal(const at::Tensor& out, double mean, double stddev);

  // A LibTorch generator seeded from this stream, for operators that want one. CPU.
  at::Generator generator() const;

 private:
  void refill() noexcept;

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_;
  uint32_t used_ = 4;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace v1
}  // namespace gh
