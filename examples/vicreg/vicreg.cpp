// VICReg (Bardes, Ponce and LeCun, ICLR 2022): views agree, columns vary, columns differ. The
// bundled `vicreg` is the same method made of parts; this one is written out.
#include "gh/component.hpp"
#include "gh/parts/two_views.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/relu.h>

namespace {

class PlainVicReg final : public gh::parts::TwoViews {
 public:
  explicit PlainVicReg(const gh::Params& params)
      : TwoViews(gh::projector_of(params)),
        invariance_(params.real("invariance")),
        variance_(params.real("variance")),
        covariance_(params.real("covariance")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViews::check(facts, out);
    gh::parts::require_two_samples(facts, out, "variances need several samples");
  }

  at::Tensor loss(const gh::Batch&, gh::Step&, const at::Tensor& z1,
                  const at::Tensor& z2) override {
    return invariance_ * (z1 - z2).square().mean() + (spread(z1) + spread(z2));
  }

 private:
  // ν/2 · mean max(0, 1 − √(Var + ε)) + μ/d · Σᵢ≠ⱼ Cov²ᵢⱼ, over the batch of all ranks.
  at::Tensor spread(const at::Tensor& z) {
    const double n = static_cast<double>(z.size(0) * host().facts().world);
    const double width = static_cast<double>(z.size(1));
    const at::Tensor x = z - host().all_reduce_sum(z.sum(0)) / n;
    const at::Tensor covariance = host().all_reduce_sum(x.t().matmul(x)) / (n - 1);
    const at::Tensor deviation = (covariance.diagonal() + 1e-4).sqrt();
    const at::Tensor others = covariance.square().sum() - covariance.diagonal().square().sum();
    return variance_ / 2 * at::relu(1 - deviation).mean() + covariance_ / width * others;
  }

  double invariance_, variance_, covariance_;
};

constexpr gh::Param kParams[] = {
    gh::real("invariance", "25.0", "weight of the views' agreement").at_least(0),
    gh::real("variance", "25.0", "weight of the columns' spread").at_least(0),
    gh::real("covariance", "1.0", "weight of the columns' independence").at_least(0),
    GH_PROJECTOR_PARAMS,
};
constexpr gh::Component kComponents[] = {
    gh::describe<PlainVicReg>("plain_vicreg", "VICReg, written out", kParams)
        .with_facts({.paper = "Bardes, Ponce and LeCun, ICLR 2022",
                     .views = "2",
                     .state = "encoder, projector",
                     .ranks = "sums: variances and covariances are those of all ranks"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "VICReg (Bardes, Ponce and LeCun, ICLR 2022), written out")
