// Statistics over the batch of all ranks, through which gradients flow: two ranks give the numbers
// of one.
#pragma once

#include "gh/host.hpp"
#include "gh/tensor.hpp"

namespace gh::parts {

// Rows of all ranks, of which each has as many.
inline int64_t global_rows(Host& host, const at::Tensor& x) {
  return x.size(0) * host.facts().world;
}

// [B, d] → [B, d]: columns have a mean of 0 over the batch of all ranks.
inline at::Tensor centred(Host& host, const at::Tensor& x) {
  return x - host.all_reduce_sum(x.sum(0)) / global_rows(host, x);
}

// xᵀy over all ranks, [d, d].
inline at::Tensor summed_products(Host& host, const at::Tensor& x, const at::Tensor& y) {
  return host.all_reduce_sum(x.t().matmul(y));
}

// Squares of what is off the diagonal, summed.
inline at::Tensor off_diagonal_squares(const at::Tensor& square) {
  return square.square().sum() - square.diagonal().square().sum();
}

}  // namespace gh::parts
