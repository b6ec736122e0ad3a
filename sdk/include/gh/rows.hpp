// Rows of matrices as points on the unit sphere, the same in every plugin and in the host.
#pragma once

#include "gh/tensor.hpp"

namespace gh {
inline namespace v1 {

// [n, d] of any floating type → each row divided by its length; a row of zeros stays one, with a
// finite gradient.
inline at::Tensor unit_rows(const at::Tensor& x) {
  return x / x.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12);
}

}  // namespace v1
}  // namespace gh
