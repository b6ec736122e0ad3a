// Labels that an allocator's fit() gave to samples of the whole set, and targets made of them: both
// views of a sample get the point of its label until the next fit.
#pragma once

#include "gh/allocator.hpp"
#include "gh/error.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cstdint>
#include <string>

namespace gh::parts {

class FittedLabels {
 public:
  // From check(). `who`: the allocator.
  static void check(const AllocatorFacts& facts, Complaints& out, const std::string& who) {
    if (facts.samples < facts.points)
      out.add(".harmonize.structure",
              who + " needs a sample for each of the " + std::to_string(facts.points) +
                  " points, the training set has " + std::to_string(facts.samples));
    if (facts.differentiable)
      out.add(".harmonize.targets", who +
                                        " gives targets without gradient: \"joint\" needs another "
                                        "allocator, such as sinkhorn");
  }

  // Labels [n] of the samples at positions `indices` [n], int64; what was known before is gone.
  void store(const at::Tensor& indices, const at::Tensor& labels) {
    labels_ = at::full({indices.max().item<int64_t>() + 1}, -1, at::kLong);
    labels_.index_copy_(0, indices, labels);
  }

  // One-hot rows, as assign() returns them. A sample without a label goes to its largest logit.
  at::Tensor targets(const AssignRequest& request) const {
    require(!request.differentiable, ErrorCode::unsupported,
            "fitted labels are targets without gradient");
    const at::Tensor logits = request.logits.detach();
    require(logits.dim() == 2 && logits.size(0) > 0 && logits.size(1) > 0, ErrorCode::shape,
            "logits must be [N, K], got ", logits.sizes());
    require(at::isfinite(logits).all().item<bool>(), ErrorCode::numeric, "logits are not finite");
    at::Tensor chosen = logits.argmax(1);
    if (labels_.defined()) {
      const at::Tensor fitted =
          look_up(request.indices, logits.size(0), logits.size(1)).to(chosen.device());
      chosen = at::where(fitted >= 0, fitted, chosen);
    }
    return at::zeros_like(logits).scatter_(1, chosen.unsqueeze(1), 1);
  }

  void visit_state(State& state) { state.tensor("labels", labels_); }

 private:
  // [N] int64, −1: without a label.
  at::Tensor look_up(const at::Tensor& indices, int64_t samples, int64_t points) const {
    require(indices.defined() && indices.dim() == 1 && indices.size(0) == samples, ErrorCode::shape,
            "fitted labels need the position of each of the ", samples, " samples");
    const at::Tensor at_cpu = indices.cpu();
    require(at_cpu.min().item<int64_t>() >= 0, ErrorCode::shape, "a sample has the position ",
            at_cpu.min().item<int64_t>());
    const int64_t known = labels_.size(0);
    const at::Tensor labels =
        at::where(at_cpu < known, labels_.index_select(0, at_cpu.clamp_max(known - 1)), -1);
    require(labels.max().item<int64_t>() < points, ErrorCode::shape,
            "a sample was given the label ", labels.max().item<int64_t>(), ", there are ", points,
            " points");
    return labels;
  }

  at::Tensor labels_;  // [positions] int64, −1: without one; undefined before the first fit
};

}  // namespace gh::parts
