// Rows of unit length, as methods compare embeddings.
#pragma once

#include "gh/tensor.hpp"

namespace gh::parts {

// [N, d] → [N, d]. A row of zeros stays one, with a gradient of zero.
inline at::Tensor unit_rows(const at::Tensor& x) {
  return x / x.norm(2, {1}, true).clamp_min(1e-12);
}

}  // namespace gh::parts
