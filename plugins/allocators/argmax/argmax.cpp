// The nearest point: target k of sample n is 1 for k = argmax_k logits[n, k], otherwise 0.
#include "gh/component.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros_like.h>

namespace {

class Argmax final : public gh::Allocator {
 public:
  explicit Argmax(const gh::Params&) {}

  void check(const gh::AllocatorFacts& facts, gh::Complaints& out) const override {
    if (facts.differentiable)
      out.add(".harmonize.targets",
              "argmax gives targets without gradient: \"joint\" needs another allocator, such as "
              "sinkhorn");
  }

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    gh::require(!request.differentiable, gh::ErrorCode::unsupported,
                "argmax gives targets without gradient");
    const at::Tensor logits = request.logits.detach();
    gh::require(logits.dim() == 2 && logits.size(0) > 0 && logits.size(1) > 0, gh::ErrorCode::shape,
                "logits must be [N, K], got ", logits.sizes());
    gh::require(at::isfinite(logits).all().item<bool>(), gh::ErrorCode::numeric,
                "logits are not finite");
    return at::zeros_like(logits).scatter_(1, logits.argmax(1, /*keepdim=*/true), 1);
  }
};

constexpr gh::Component kComponents[] = {
    gh::describe<Argmax>("argmax", "the nearest point, whatever the prior"),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Surrogate labels without a prior: each sample to its nearest point")
