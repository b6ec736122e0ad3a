// Sharpness-aware steps: the gradient is taken where a loss is worst nearby, and moves the weights
// from where they are.
//
//   step.backward(first_loss);
//   step.reduce_gradients();
//   const parts::Snapshot weights(parameters);
//   parts::ascend(parameters, radius);
//   step.discard_gradients();
//   step.backward(second_loss);
//   weights.restore();
#pragma once

#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace gh::parts {

// Values of tensors, put back in place and bit for bit: θ + e − e need not be θ.
class Snapshot {
 public:
  explicit Snapshot(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {
    for (const at::Tensor& t : tensors_) values_.push_back(t.detach().clone());
  }
  void restore() const {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(values_[i]);
  }

 private:
  std::vector<at::Tensor> tensors_, values_;
};

// ASAM's ascent (Kwon et al. 2021), in place: θ ← θ + radius · θ²·g / ‖|θ|·g‖ with g = θ.grad, the
// norm over all parameters together. A parameter of zeros, or without a gradient, stays. Does not
// wait for the device.
inline void ascend(const std::vector<at::Tensor>& parameters, double radius) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const at::Tensor& p : parameters)
    if (p.grad().defined()) norms.push_back((p.abs() * p.grad()).norm());
  if (norms.empty()) return;
  const at::Tensor scale = radius / (at::stack(norms).norm() + 1e-12);
  for (const at::Tensor& p : parameters)
    if (p.grad().defined()) p.add_(p.square() * p.grad() * scale);
}

}  // namespace gh::parts
