// One problem of Sinkhorn's iteration on the CPU, with kernels of choice.
#pragma once

#include "sinkhorn_kernels.hpp"

#include "gh/ops/sinkhorn.hpp"

#include <vector>

namespace gh {
inline namespace v1 {
namespace ops {

// A problem that was checked, without the points that have no share.
struct SinkhornInput {
  at::Tensor logits;          // [N, K] of T, CPU, contiguous, finite
  std::vector<double> prior;  // [K], above 0, sums to 1
  double middle;              // between the smallest and the largest logit
  int64_t points;             // also those without a share
  SinkhornDomain domain;      // not automatic
};

// log c and log r after every iteration.
struct SinkhornHistory {
  std::vector<double> samples;  // [iterations, N]
  std::vector<double> points;   // [iterations, K]
};

// Targets are [N, K] of T. `history` may be null.
template <class T>
SinkhornResult solve_sinkhorn(const SinkhornKernels<T>& kernels, const SinkhornInput& input,
                              const SinkhornOptions& options, SinkhornHistory* history);

}  // namespace ops
}  // namespace v1
}  // namespace gh
