// Comparing tensors, and gradients with finite differences.
#pragma once

#include "gh/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace gh::testing {

// "float32 [4, 3]", "undefined".
std::string describe(const at::Tensor& tensor);
bool all_finite(const at::Tensor& tensor);
// Same dtype, shape and bytes; undefined equals undefined.
bool identical(const at::Tensor& a, const at::Tensor& b);

// A leaf of this type with a gradient to read.
inline at::Tensor leaf(const at::Tensor& x, at::ScalarType dtype) {
  return x.to(dtype).clone().set_requires_grad(true);
}

// Largest difference between the gradients of these tensors (float64) and central differences of
// `loss`, which reads them.
inline double slope_error(const std::vector<at::Tensor>& tensors,
                          const std::function<double()>& loss) {
  const double step = 1e-6;
  double worst = 0;
  std::vector<at::Tensor> slopes;  // before `loss` adds to them
  for (const at::Tensor& x : tensors) slopes.push_back(x.grad().clone().contiguous());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    double* const values = tensors[k].data_ptr<double>();
    const double* const slope = slopes[k].data_ptr<double>();
    for (int64_t i = 0; i < tensors[k].numel(); ++i) {
      const double before = values[i];
      values[i] = before + step;
      const double above = loss();
      values[i] = before - step;
      const double below = loss();
      values[i] = before;
      worst = std::max(worst, std::abs((above - below) / (2 * step) - slope[i]));
    }
  }
  return worst;
}

}  // namespace gh::testing
