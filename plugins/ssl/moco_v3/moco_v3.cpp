// MoCo v3 (Chen, Xie and He 2021): predictions of each view are told from the other views of the
// batch as a moving average of the network sees them.
#include "gh/component.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/parts/rows.hpp"
#include "gh/parts/twin.hpp"
#include "gh/parts/two_views.hpp"

#include <optional>

namespace {

using gh::parts::HeadSpec;
using gh::parts::LastNorm;
using gh::parts::unit_rows;

HeadSpec head(int64_t hidden, int64_t out, LastNorm last_norm) {
  return {
      .widths = {hidden, out}, .hidden_bias = false, .last_bias = false, .last_norm = last_norm};
}

class MocoV3 final : public gh::parts::TwoViews {
 public:
  explicit MocoV3(const gh::Params& params)
      : TwoViews(
            params.text("projector") == "none"
                ? HeadSpec{}
                : head(params.integer("hidden"), params.integer("embedding"), LastNorm::fixed)),
        temperature_(params.real("temperature")),
        momentum_(params.real("momentum")),
        hidden_(params.integer("hidden")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViews::check(facts, out);
    gh::parts::require_two_samples(facts, out, "InfoNCE needs negatives");
  }

  void build(gh::Host& host) override {
    TwoViews::build(host);
    const int64_t width = embedding_width();
    predictor_ =
        add("predictor",
            gh::parts::make_head(host, "predictor", width, head(hidden_, width, LastNorm::none)),
            gh::parts::Role::trained);
    twin_.emplace(host, network(), network_spec(),
                  gh::parts::TwinSpec{.momentum = momentum_,
                                      .update = gh::parts::TwinUpdate::before_forward});
    add("twin", twin_->network(), gh::parts::Role::followed);
  }

  // 2τ · [CE(q̂₁k̂₂ᵀ/τ) + CE(q̂₂k̂₁ᵀ/τ)], k without gradient.
  at::Tensor loss(const gh::Batch& batch, gh::Step&, const at::Tensor& z1,
                  const at::Tensor& z2) override {
    const at::Tensor k1 = unit_rows(twin_->embed(batch.views[0]));
    const at::Tensor k2 = unit_rows(twin_->embed(batch.views[1]));
    const at::Tensor first = contrast(z1, k2);  // in this order, for normalisation's statistics
    return 2 * temperature_ * (first + contrast(z2, k1));
  }

  void after_update(gh::Host& host) override {
    host.log("twin_momentum", twin_->momentum(host.progress()));
    twin_->follow(host.progress());
  }

 private:
  at::Tensor contrast(const at::Tensor& z, const at::Tensor& k) {
    const at::Tensor q = unit_rows(predictor_->forward(z));
    return gh::parts::info_nce(host(), q, k, temperature_).mean();
  }

  double temperature_, momentum_;
  int64_t hidden_;
  std::shared_ptr<gh::Sequential> predictor_;
  std::optional<gh::parts::Twin> twin_;
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.2", "softmax temperature of InfoNCE").above(0),
    gh::real("momentum", "0.99", "of the twin at the start; it rises to 1 by half a cosine")
        .at_least(0)
        .at_most(1),
    gh::choice("projector", "mlp", "mlp|none",
               "head between backbone and predictor: linear, BN, ReLU, linear, BN without scale "
               "and shift; or nothing"),
    gh::integer("hidden", "4096", "width inside projector and predictor")
        .at_least(1)
        .at_most(65536),
    gh::integer("embedding", "256", "width of the projector's and the predictor's output")
        .at_least(1)
        .at_most(65536),
};

constexpr gh::Component kComponents[] = {
    gh::describe<MocoV3>("moco_v3", "MoCo v3: symmetric InfoNCE against a momentum twin", kParams),
};

}  // namespace

GH_PLUGIN(
    kComponents, .license = "MIT", .authors = "the ghhost authors",
    .doc = "MoCo v3 (Chen, Xie and He, ICCV 2021): predictor, momentum twin, in-batch negatives")
