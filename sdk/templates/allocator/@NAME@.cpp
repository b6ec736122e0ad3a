// @NAME@: each sample goes to the points by a softmax of its cosines, tilted by the prior; or to
// the best one alone.
//
// Where to change what:
//   assign()   your allocation: logits [N, K] of all ranks in, targets [N, K] with rows that sum to
//              one out
//   kParams    what a recipe may set beside `id` in harmonize.allocator
//
// Override check() to refuse recipes that cannot work, fit_every() and fit() for a pass over the
// whole training set (K-means, SeLa), and visit_state() to remember something between calls.
#include "gh/component.hpp"

#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

namespace {

class @CLASS@ final : public gh::Allocator {
 public:
  explicit @CLASS@(const gh::Params& params)
      : temperature_(params.real("temperature")), hard_(params.boolean("hard")) {}

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport& report) override {
    gh::require(!(hard_ && request.differentiable), gh::ErrorCode::unsupported,
                "hard targets have no gradient; set hard = false");
    at::Tensor scores = request.logits / temperature_;
    if (request.prior.defined())
      scores =
          scores + request.prior.clamp_min(1e-12).log().to(request.logits.options()).unsqueeze(0);
    at::Tensor targets = at::softmax(scores, 1);
    if (hard_) targets = at::zeros_like(targets).scatter(1, scores.argmax(1, true), 1.0);
    report.scalar("confidence", targets.amax({1}).mean().item<double>());
    return request.differentiable ? targets : targets.detach();
  }

 private:
  double temperature_;
  bool hard_;
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.1", "softness of the targets").above(0),
    gh::boolean("hard", "false", "the best point alone instead of a softmax"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<@CLASS@>("@NAME@", "softmax over the points, tilted by the prior", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "your name", .url = "",
          .doc = "What this plugin is for, in a sentence or two")
