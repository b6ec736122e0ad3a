// Cross entropy of classes, plain and with logits adjusted by how often each class occurs (Menon et
// al. 2021).
#pragma once

#include "gh/tensor.hpp"

namespace tuning {

// log(π^τ + 1e-12) with π = counts / Σ counts, [C] float64. The floor stands outside the power, as
// in the authors' code; it is what a class without samples gets.
at::Tensor log_prior(const at::Tensor& counts, double tau);

// Mean over the batch of −log softmax(logits + adjustment)[label]. `logits` [B, C], `labels` [B]
// int64, `adjustment` [C] of any float dtype, or undefined: plain cross entropy.
at::Tensor class_loss(const at::Tensor& logits, const at::Tensor& labels,
                      const at::Tensor& adjustment);

}  // namespace tuning
