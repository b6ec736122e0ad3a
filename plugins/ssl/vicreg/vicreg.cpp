// VICReg (Bardes, Ponce and LeCun 2022): views agree, columns vary, columns do not repeat each
// other.
#include "gh/component.hpp"
#include "gh/parts/batch_statistics.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/two_views.hpp"

#include <ATen/ops/relu.h>

namespace {

using gh::parts::HeadSpec;

constexpr double kEpsilon = 1e-4;  // below the root of a variance

HeadSpec projector(const gh::Params& params) {
  if (params.text("projector") == "none") return {};
  const int64_t width = params.integer("embedding");
  return {.widths = {width, width, width}, .last_bias = false};
}

class VicReg final : public gh::parts::TwoViews {
 public:
  explicit VicReg(const gh::Params& params)
      : TwoViews(projector(params)),
        invariance_(params.real("invariance")),
        variance_(params.real("variance")),
        covariance_(params.real("covariance")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViews::check(facts, out);
    gh::parts::require_two_samples(facts, out, "variances need several samples");
  }

  at::Tensor loss(const gh::Batch&, gh::Step&, const at::Tensor& z1,
                  const at::Tensor& z2) override {
    const Spread a = spread(z1), b = spread(z2);
    return invariance_ * (z1 - z2).square().mean() + variance_ * (a.hinge + b.hinge) / 2 +
           covariance_ * (a.redundancy + b.redundancy);
  }

 private:
  struct Spread {
    at::Tensor hinge;       // mean over columns of max(0, 1 − √(variance + ε))
    at::Tensor redundancy;  // squared covariances of different columns, summed, over the width
  };
  // Over the batch of all ranks, with n − 1.
  Spread spread(const at::Tensor& z) {
    const double n = static_cast<double>(gh::parts::global_rows(host(), z));
    const at::Tensor x = gh::parts::centred(host(), z);
    const at::Tensor covariance = gh::parts::summed_products(host(), x, x) / (n - 1);
    const at::Tensor deviation = (covariance.diagonal() + kEpsilon).sqrt();
    return {at::relu(1 - deviation).mean(),
            gh::parts::off_diagonal_squares(covariance) / static_cast<double>(z.size(1))};
  }

  double invariance_, variance_, covariance_;
};

constexpr gh::Param kParams[] = {
    gh::real("invariance", "25.0", "weight of the views' agreement").at_least(0),
    gh::real("variance", "25.0", "weight of the columns' spread").at_least(0),
    gh::real("covariance", "1.0", "weight of the columns' independence").at_least(0),
    gh::parts::projector_param(
        "head between backbone and loss: three linear layers, BN and ReLU between; or nothing"),
    gh::parts::width_param("embedding", "2048", "width of each of them"),
};

constexpr gh::Component kComponents[] = {
    gh::describe<VicReg>("vicreg", "VICReg: variance, invariance and covariance", kParams)
        .with_facts({.paper = "Bardes, Ponce and LeCun, ICLR 2022",
                     .views = "2",
                     .state = "encoder, projector",
                     .ranks = "sums: variances and covariances are those of all ranks"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "VICReg (Bardes, Ponce and LeCun, ICLR 2022): regularised agreement of two views")
