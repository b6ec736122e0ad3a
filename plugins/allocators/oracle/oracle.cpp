// The true classes as targets: sample n of class c goes to point c. An upper bound for allocators
// that have to guess, not a method: it sees labels.
#include "gh/component.hpp"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros_like.h>

#include <string>

namespace {

class Oracle final : public gh::Allocator {
 public:
  explicit Oracle(const gh::Params&) {}

  void check(const gh::AllocatorFacts& facts, gh::Complaints& out) const override {
    if (facts.classes == 0)
      out.add(".data", "the oracle needs class labels, and this data set has none");
    else if (facts.classes > facts.points)
      out.add(".harmonize.structure",
              "the oracle needs a point for each of the " + std::to_string(facts.classes) +
                  " classes, the structure has " + std::to_string(facts.points));
    if (facts.differentiable)
      out.add(".harmonize.targets",
              "oracle gives targets without gradient: \"joint\" needs another allocator, such as "
              "sinkhorn");
  }

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    gh::require(!request.differentiable, gh::ErrorCode::unsupported,
                "oracle gives targets without gradient");
    const at::Tensor logits = request.logits.detach();
    gh::require(logits.dim() == 2 && logits.size(0) > 0 && logits.size(1) > 0, gh::ErrorCode::shape,
                "logits must be [N, K], got ", logits.sizes());
    gh::require(at::isfinite(logits).all().item<bool>(), gh::ErrorCode::numeric,
                "logits are not finite");
    const at::Tensor& labels = request.labels;
    gh::require(labels.defined() && labels.dim() == 1 && labels.size(0) == logits.size(0),
                gh::ErrorCode::shape, "the oracle needs the class of each of the ", logits.size(0),
                " samples");
    const int64_t least = labels.min().item<int64_t>(), most = labels.max().item<int64_t>();
    gh::require(least >= 0 && most < logits.size(1), gh::ErrorCode::shape, "classes must be 0 to ",
                logits.size(1) - 1, ", got ", least < 0 ? least : most);
    return at::zeros_like(logits).scatter_(1, labels.to(logits.device()).unsqueeze(1), 1);
  }
};

constexpr gh::Component kComponents[] = {
    gh::describe<Oracle>("oracle", "the true class: class c goes to point c")
        .with_flags(GH_SEES_LABELS),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The best that an allocator could do: targets from the true classes")
