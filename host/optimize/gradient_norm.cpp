#include "optimize/gradient_norm.hpp"

#include "optimize/dense.hpp"
#include "optimize/parallel.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gh::host {
namespace {

std::vector<at::Tensor> gradients_of(std::span<const OptimizedParameter> parameters) {
  std::vector<at::Tensor> out;
  for (const OptimizedParameter& p : parameters)
    if (p.tensor.grad().defined()) out.push_back(p.tensor.grad());
  return out;
}

template <class T>
double squares(const at::Tensor& gradient, int64_t begin, int64_t end) {
  const T* const g = gradient.const_data_ptr<T>();
  return sum_lanes(begin, end, [g](int64_t i) {
    const double value = g[i];
    return value * value;
  });
}

// On their device, which is waited for once.
double squares_anywhere(const std::vector<at::Tensor>& gradients) {
  if (gradients.empty()) return 0;
  const at::Tensor norms = at::stack(at::_foreach_norm(gradients, 2, at::kDouble));
  return norms.square().sum().item<double>();
}

}  // namespace

double gradient_norm(std::span<const OptimizedParameter> parameters) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> dense, others;
  std::vector<int64_t> sizes;
  for (const at::Tensor& gradient : gradients_of(parameters))
    (is_dense_on_cpu(gradient) ? dense : others).push_back(gradient);
  for (const at::Tensor& gradient : dense) sizes.push_back(gradient.numel());
  const std::vector<double> sums =
      chunked_sums(sizes, [&](std::size_t item, int64_t begin, int64_t end) {
        return dense[item].scalar_type() == at::kFloat ? squares<float>(dense[item], begin, end)
                                                       : squares<double>(dense[item], begin, end);
      });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), squares_anywhere(others)));
}

void scale_gradients(std::span<const OptimizedParameter> parameters, double factor) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor);
}

double clip_factor(double norm, double largest) { return std::min(largest / (norm + 1e-6), 1.0); }

}  // namespace gh::host
