#include "class_loss.hpp"

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>

namespace tuning {

at::Tensor log_prior(const at::Tensor& counts, double tau) {
  const at::Tensor frequency = counts.to(at::kDouble) / counts.sum();
  return frequency.pow(tau).add(1e-12).log();
}

at::Tensor class_loss(const at::Tensor& logits, const at::Tensor& labels,
                      const at::Tensor& adjustment) {
  const at::Tensor adjusted =
      adjustment.defined() ? logits + adjustment.to(logits.device(), logits.scalar_type()) : logits;
  return at::nll_loss(at::log_softmax(adjusted, 1), labels);
}

}  // namespace tuning
