// Features made ready for clusters, as DeepCluster has them: centred, turned to their principal
// directions, each of these scaled to the same variance, rows scaled to unit length.
#pragma once

#include "gh/rows.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cstdint>

namespace gh::parts {

// x [N, D] → [N, min(D, directions)] of x's type; the directions of largest variance, in no order.
// Directions in which rows differ by rounding only are left at zero.
inline at::Tensor whitened_rows(const at::Tensor& x, int64_t directions) {
  const at::NoGradGuard no_grad;
  const at::Tensor rows = x.to(at::kDouble);
  const at::Tensor centred = rows - rows.mean(0, true);
  // Ascending.
  const auto [variances, turn] =
      at::linalg_eigh(centred.t().matmul(centred) / static_cast<double>(rows.size(0)));
  const int64_t kept = std::min(directions, x.size(1)), first = x.size(1) - kept;
  const at::Tensor of_kept = variances.narrow(0, first, kept);
  const double least = 1e-10 * variances.max().item<double>();
  const at::Tensor scale = at::where(of_kept > least, of_kept.clamp_min(1e-300).rsqrt(), 0.0);
  return unit_rows(centred.matmul(turn.narrow(1, first, kept)) * scale).to(x.scalar_type());
}

}  // namespace gh::parts
