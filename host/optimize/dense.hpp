// Tensors on the CPU that a plain loop over their memory can walk.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>

namespace gh::host {

// float32 or float64 without gaps, in any order of dimensions.
inline bool is_dense_on_cpu(const at::Tensor& t) {
  return t.device().is_cpu() && t.layout() == at::kStrided &&
         (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) &&
         t.is_non_overlapping_and_dense();
}

// Whether two tensors of one shape have their elements in the same order. The stride of a dimension
// of size one says nothing: a 1×1 convolution has several spellings.
inline bool same_order(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

// Σ term(i) in eight sums side by side, which a compiler may keep in vector registers.
template <class Term>
double sum_lanes(int64_t begin, int64_t end, Term term) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  double total = 0;
  for (; i < end; ++i) total += term(i);
  for (const double lane : lanes) total += lane;
  return total;
}

}  // namespace gh::host
