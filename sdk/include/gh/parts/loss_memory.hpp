// What each sample's loss was over the epochs, and how strongly its views should be changed
// therefore: samples that stay hard (the tail, mostly) get stronger views. The same on all ranks.
#pragma once

#include "gh/host.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>

#include <limits>
#include <string_view>

namespace gh::parts {

class LossMemory {
 public:
  explicit LossMemory(double momentum) : momentum_(momentum) {}

  void make(const RunFacts& facts) {
    losses_ = at::full({facts.samples}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  }

  // m ← momentum·m + (1 − momentum)·loss, at first the loss itself. `indices` [B] int64 and
  // `losses` [B] of this rank. A collective.
  void see(Host& host, const at::Tensor& indices, const at::Tensor& losses) {
    const at::NoGradGuard no_grad;
    const at::Tensor where = host.all_gather(indices.to(losses.device())).to(at::kCPU);
    const at::Tensor fresh = host.all_gather(losses.detach()).to(at::kCPU, at::kDouble);
    const at::Tensor old = losses_.index_select(0, where);
    const at::Tensor mixed = momentum_ * old + (1 - momentum_) * fresh;
    losses_.index_copy_(0, where, at::where(old.isnan(), fresh, mixed));
  }

  // ½ + ½·s / max |s| with the standardised memory s, [samples] in 0 … 1. A sample that was never
  // seen counts as an average one; so do all while there are none to compare.
  at::Tensor weights() const {
    const at::Tensor seen = losses_.isnan().logical_not();
    const at::Tensor known = losses_.masked_select(seen);
    const at::Tensor half = at::full({losses_.numel()}, 0.5, at::kDouble);
    if (known.numel() < 2) return half;
    const at::Tensor apart = losses_ - known.mean();
    const double most = apart.masked_select(seen).abs().max().item<double>();
    return most > 0 ? at::where(seen, 0.5 + 0.5 * apart / most, half) : half;
  }

  void visit_state(State& state, std::string_view name) { state.tensor(name, losses_); }

 private:
  double momentum_;
  at::Tensor losses_;  // [samples] float64 on the CPU, NaN where unseen
};

}  // namespace gh::parts
