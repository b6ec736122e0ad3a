// BYOL (Grill et al. 2020): an online network predicts, from one view, what a slowly moving average
// of it makes of the other.
#include "gh/component.hpp"
#include "gh/parts/rows.hpp"
#include "gh/parts/twin.hpp"
#include "gh/parts/two_views.hpp"

#include <optional>

namespace {

using gh::parts::HeadSpec;
using gh::parts::unit_rows;

class Byol final : public gh::parts::TwoViews {
 public:
  explicit Byol(const gh::Params& params)
      : TwoViews(params.text("projector") == "none"
                     ? HeadSpec{}
                     : head(params.integer("hidden"), params.integer("embedding"))),
        hidden_(params.integer("hidden")),
        momentum_(params.real("momentum")) {}

  void build(gh::Host& host) override {
    TwoViews::build(host);
    const int64_t width = embedding_width();
    predictor_ =
        add("predictor", gh::parts::make_head(host, "predictor", width, head(hidden_, width)),
            gh::parts::Role::trained);
    twin_.emplace(host, network(), network_spec(), gh::parts::TwinSpec{.momentum = momentum_});
    add("twin", twin_->network(), gh::parts::Role::followed);
  }

  // Mean of |p̂₁ − t̂₂|² + |p̂₂ − t̂₁|², t without gradient.
  at::Tensor loss(const gh::Batch& batch, gh::Step&, const at::Tensor& z1,
                  const at::Tensor& z2) override {
    const at::Tensor t1 = unit_rows(twin_->embed(batch.views[0]));
    const at::Tensor t2 = unit_rows(twin_->embed(batch.views[1]));
    const at::Tensor p1 = unit_rows(predictor_->forward(z1));
    const at::Tensor p2 = unit_rows(predictor_->forward(z2));
    return ((p1 - t2).square().sum(1) + (p2 - t1).square().sum(1)).mean();
  }

  void after_update(gh::Host& host) override {
    host.log("twin_momentum", twin_->momentum(host.progress()));
    twin_->follow(host.progress());
  }

 private:
  static HeadSpec head(int64_t hidden, int64_t out) {
    return {.widths = {hidden, out}, .last_bias = false};
  }

  int64_t hidden_;
  double momentum_;
  std::shared_ptr<gh::Sequential> predictor_;
  std::optional<gh::parts::Twin> twin_;
};

constexpr gh::Param kParams[] = {
    gh::real("momentum", "0.99", "of the twin at the start; it rises to 1 by half a cosine")
        .at_least(0)
        .at_most(1),
    gh::choice("projector", "mlp", "mlp|none",
               "head between backbone and predictor: linear, BN, ReLU, linear without bias; or "
               "nothing"),
    gh::integer("hidden", "4096", "width inside projector and predictor")
        .at_least(1)
        .at_most(65536),
    gh::integer("embedding", "256", "width of the projector's and the predictor's output")
        .at_least(1)
        .at_most(65536),
};

constexpr gh::Component kComponents[] = {
    gh::describe<Byol>("byol", "BYOL: predicts what a moving average of the network sees", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "BYOL (Grill et al., NeurIPS 2020): predictor and momentum twin, no negatives")
