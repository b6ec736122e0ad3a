// The k nearest rows of a bank for every query, by inner product or Euclidean distance: an exact
// search through all of them.
//
//   const auto metric = ops::NearestMetric::inner_product;
//   ops::NearestResult found = ops::nearest(bank, queries, 20, metric);
//   at::Tensor nearest = found.indices.select(1, 0);  // for each query a row of the bank
//
// All pairs are first compared in few bits (bfloat16 where the processor multiplies it, else
// float32) after the bank's mean is taken off; a bound on what that can be off says which rows
// cannot be among the k nearest. The rest are computed in float64, and the order is that of these
// numbers. So few bits cost no neighbour. What is slow is a bank of rows that are all equally near:
// each of them needs float64.
//
// Any thread; calls may overlap. The number of threads changes no bit of a result. Tensors that are
// not on the CPU are copied there and results back. Nothing is differentiated.
#pragma once

#include "gh/export.hpp"
#include "gh/tensor.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {
namespace ops {

// Values are frozen; new ones are appended.
enum class NearestMetric : int {
  inner_product = 0,  // the largest; cosines where rows have unit length
  euclidean = 1       // the smallest distance
};

struct NearestResult {
  // [queries, k] int64, nearest first, of equally near ones the lower first.
  at::Tensor indices;
  // [queries, k] like queries: inner products, or distances (not squared).
  at::Tensor values;
};

// bank [N, D] and queries [Q, D] of one dtype, float32 or float64, and one device; 1 ≤ k ≤ N. Q may
// be 0. ErrorCode::shape (also of dtypes), invalid_param (k) and numeric (not finite) name the
// culprit.
GH_API NearestResult nearest(const at::Tensor& bank, const at::Tensor& queries, int64_t k,
                             NearestMetric metric);

}  // namespace ops
}  // namespace v1
}  // namespace gh
