// Barlow Twins (Zbontar et al. 2021): the correlations of two views' embeddings should be those of
// the identity.
#include "gh/component.hpp"
#include "gh/parts/batch_statistics.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/two_views.hpp"

namespace {

using gh::parts::HeadSpec;

constexpr double kEpsilon = 1e-5;  // that of batch normalisation

HeadSpec projector(const gh::Params& params) {
  if (params.text("projector") == "none") return {};
  HeadSpec head{.hidden_bias = false, .last_bias = false};
  head.widths.assign(params.integer("layers") - 1, params.integer("hidden"));
  head.widths.push_back(params.integer("embedding"));
  return head;
}

class BarlowTwins final : public gh::parts::TwoViews {
 public:
  explicit BarlowTwins(const gh::Params& params)
      : TwoViews(projector(params)),
        redundancy_(params.real("redundancy")),
        scale_(params.real("scale")),
        bias_rate_(params.real("bias_rate")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViews::check(facts, out);
    gh::parts::require_two_samples(facts, out, "correlations need several samples");
  }

  // What has one dimension is neither decayed nor scaled by LARS, and learns at a rate of its own.
  void trainable(gh::Trainables& out) override {
    for (const auto& module : trained_modules())
      for (const gh::NamedTensor& p : module->parameters())
        if (p.tensor.dim() > 1)
          out.add(p.tensor, gh::Policy::normal, 1.0);
        else
          out.add(p.tensor, gh::Policy::no_decay, bias_rate_);
  }

  // Σᵢ (1 − Cᵢᵢ)² + λ Σᵢ≠ⱼ Cᵢⱼ² over the batch of all ranks, the same number on each.
  at::Tensor loss(const gh::Batch&, gh::Step&, const at::Tensor& z1,
                  const at::Tensor& z2) override {
    const double n = static_cast<double>(gh::parts::global_rows(host(), z1));
    const at::Tensor c = gh::parts::summed_products(host(), standardised(z1), standardised(z2)) / n;
    const at::Tensor diagonal = (1 - c.diagonal()).square().sum();
    return (diagonal + redundancy_ * gh::parts::off_diagonal_squares(c)) * scale_;
  }

 private:
  at::Tensor standardised(const at::Tensor& z) {
    const double n = static_cast<double>(gh::parts::global_rows(host(), z));
    const at::Tensor x = gh::parts::centred(host(), z);
    return x / (host().all_reduce_sum(x.square().sum(0)) / n + kEpsilon).sqrt();
  }

  double redundancy_, scale_, bias_rate_;
};

constexpr gh::Param kParams[] = {
    gh::real("redundancy", "0.0051", "weight of what is off the diagonal").at_least(0),
    gh::real("scale", "0.1", "factor of the loss").above(0),
    gh::real("bias_rate", "1.0", "learning rate of biases and norms over that of weights")
        .at_least(0),
    gh::parts::projector_param(
        "head between backbone and loss: linear layers without bias, BN and ReLU between; "
        "or nothing"),
    gh::integer("layers", "3", "linear layers of the projector").at_least(1).at_most(16),
    gh::parts::width_param("hidden", "2048", "width between them"),
    gh::parts::width_param("embedding", "2048", "width of the projector's output"),
};

constexpr gh::Component kComponents[] = {
    gh::describe<BarlowTwins>(
        "barlow_twins", "Barlow Twins: embeddings of two views, decorrelated by column", kParams)
        .with_facts({.paper = "Zbontar et al., ICML 2021",
                     .views = "2",
                     .state = "encoder, projector",
                     .ranks = "sums: columns and their correlations are those of all ranks"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Barlow Twins (Zbontar et al., ICML 2021): redundancy reduction")
