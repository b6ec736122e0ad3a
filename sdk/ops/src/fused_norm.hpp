// Batch normalisation on the CPU together with the residual sum and the ReLU that follow it: one
// node of autograd, which reads and writes activations as seldom as possible. Used by
// fast_layers().
#pragma once

#include "gh/tensor.hpp"

namespace gh {
inline namespace v1 {

struct NormCall {
  at::Tensor x;                               // [B,C] or [B,C,H,W], any memory format
  at::Tensor residual;                        // as x, or undefined: none
  at::Tensor weight, bias;                    // [C], or both undefined
  at::Tensor running_mean, running_variance;  // [C]
  double momentum, epsilon;
  bool training;
  bool relu;
};

// Whether fused_norm() takes it: float32 or float64 on the CPU, all of one type, at least one
// value.
bool fused_norm_takes(const NormCall& call);

// act(norm(x) + residual), in x's memory format. In training the running statistics move. The
// result does not depend on the number of threads. Can be differentiated twice.
at::Tensor fused_norm(const NormCall& call);

}  // namespace v1
}  // namespace gh
