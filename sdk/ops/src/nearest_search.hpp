// The search for nearest rows with a given set of kernels.
#pragma once

#include "nearest_kernels.hpp"

#include "gh/ops/nearest.hpp"

namespace gh {
inline namespace v1 {

// As ops::nearest() for CPU tensors of dtype T that were checked.
template <class T>
ops::NearestResult search_nearest(const at::Tensor& bank, const at::Tensor& queries, int64_t k,
                                  ops::NearestMetric metric, const NearestKernels<T>& kernels);

}  // namespace v1
}  // namespace gh
