// @NAME@: pulls the two views of a sample together and spreads all samples over the sphere
// (alignment and uniformity, Wang and Isola 2020).
//
// Where to change what:
//   losses()   your loss, a value for each sample; the base class runs encoder, projector, GH and
//              the backward pass
//   check()    refuses recipes that cannot work, before training
//   kParams    what a recipe may set under [method]
//
// Predictors, momentum twins, queues, several backward passes: gh/parts/two_views.hpp and
// gh/parts/online_method.hpp are bases that leave more to you.
#include "gh/component.hpp"
#include "gh/rows.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/logsumexp.h>

#include <cmath>
#include <limits>

namespace {

class @CLASS@ final : public gh::TwoViewMethod {
 public:
  explicit @CLASS@(const gh::Params& params)
      : TwoViewMethod(params),
        weight_(params.real("weight")),
        sharpness_(params.real("sharpness")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViewMethod::check(facts, out);
    gh::parts::require_two_samples(facts, out, "uniformity compares samples");
  }

  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    const at::Tensor a = gh::unit_rows(z1);
    const at::Tensor b = gh::unit_rows(z2);
    return (a - b).square().sum(1) + weight_ * (uniformity(a) + uniformity(b)) / 2;
  }

 private:
  // log mean exp(−t |xᵢ − xⱼ|²) over all other samples j of the global batch: [B, width] → [B].
  at::Tensor uniformity(const at::Tensor& x) {
    const at::Tensor all = host().all_gather(x);
    gh::require(all.size(0) > 1, gh::ErrorCode::shape,
                "a batch of one sample has no others; set train.drop_last = true");
    // |xᵢ − xⱼ|² = 2 − 2 xᵢ·xⱼ, as rows have unit length.
    const at::Tensor exponent = sharpness_ * (2 * x.matmul(all.t()) - 2);
    const at::Tensor self =
        at::arange(x.size(0), x.options().dtype(at::kLong)) + host().facts().rank * x.size(0);
    const double none = -std::numeric_limits<double>::infinity();
    return at::logsumexp(exponent.scatter(1, self.unsqueeze(1), none), 1) -
           std::log(all.size(0) - 1.0);
  }

  double weight_;
  double sharpness_;
};

constexpr gh::Param kParams[] = {
    gh::real("weight", "1.0", "weight of uniformity against alignment").at_least(0),
    gh::real("sharpness", "2.0", "how local the repulsion is: t in exp(-t |x - y|^2)").above(0),
    GH_PROJECTOR_PARAMS,
};
constexpr gh::Component kComponents[] = {
    gh::describe<@CLASS@>("@NAME@", "alignment and uniformity of two views", kParams)
        .with_facts({.paper = "Wang and Isola, ICML 2020",
                     .views = "2",
                     .state = "encoder, projector",
                     .ranks = "embeddings: a sample keeps away from those of all ranks"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "your name", .url = "",
          .doc = "What this plugin is for, in a sentence or two")
