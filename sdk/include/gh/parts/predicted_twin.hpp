// Base of methods whose network predicts, from each view, what a momentum twin makes of the other
// (BYOL, MoCo v3): a method is what its heads are like, and what it makes of predictions and
// targets.
#pragma once

#include "gh/parts/head_params.hpp"
#include "gh/parts/twin.hpp"
#include "gh/parts/two_views.hpp"

#include <memory>
#include <optional>

namespace gh::parts {

// Splice into a method's own parameters. `layers`: what the projector is made of.
#define GH_PREDICTED_TWIN_PARAMS(layers)                                                         \
  gh::parts::twin_momentum_param("0.99"),                                                        \
      gh::parts::projector_param("head between backbone and predictor: " layers "; or nothing"), \
      gh::parts::width_param("hidden", "4096", "width inside projector and predictor"),          \
      gh::parts::width_param("embedding", "256",                                                 \
                             "width of the projector's and the predictor's output")

struct PredictedTwinSpec {
  // Of projector and predictor, without widths.
  HeadSpec head = {};
  LastNorm projector_norm = LastNorm::none;
  TwinUpdate update = TwinUpdate::after_step;
};

class PredictedTwin : public TwoViews {
 public:
  // Widths, momentum and whether there is a projector come from GH_PREDICTED_TWIN_PARAMS.
  PredictedTwin(const Params& params, const PredictedTwinSpec& spec)
      : TwoViews(projector(params, spec)),
        predictor_spec_(spec.head),
        twin_spec_{.momentum = params.real("momentum"), .update = spec.update} {
    // The predictor takes what the projector gives, and gives as much back.
    predictor_spec_.widths = {params.integer("hidden"), 0};
  }

  // Scalar, as in TwoViews, of the prediction [B, width] from one view and the target [B, width],
  // without gradient, of the other. The loss of a step is the sum of both ways.
  virtual at::Tensor one_way(const at::Tensor& prediction, const at::Tensor& target) = 0;

  at::Tensor loss(const Batch& batch, Step&, const at::Tensor& z1, const at::Tensor& z2) final {
    const at::Tensor t1 = twin_->embed(batch.views[0]);
    const at::Tensor t2 = twin_->embed(batch.views[1]);
    // In this order, for the statistics of normalisation.
    const at::Tensor first = one_way(predictor_->forward(z1), t2);
    return first + one_way(predictor_->forward(z2), t1);
  }

  void build(Host& host) override {
    TwoViews::build(host);
    predictor_ = add("predictor", make_head(host, "predictor", embedding_width(), predictor_spec_),
                     Role::trained);
    twin_.emplace(host, network(), network_spec(), twin_spec_);
    add("twin", twin_->network(), Role::followed);
  }
  void after_update(Host& host) override {
    host.log("twin_momentum", twin_->momentum(host.progress()));
    twin_->follow(host.progress());
  }

 private:
  static HeadSpec projector(const Params& params, const PredictedTwinSpec& spec) {
    if (params.text("projector") == "none") return {};
    HeadSpec head = spec.head;
    head.widths = {params.integer("hidden"), params.integer("embedding")};
    head.last_norm = spec.projector_norm;
    return head;
  }

  HeadSpec predictor_spec_;
  TwinSpec twin_spec_;
  std::shared_ptr<Sequential> predictor_;
  std::optional<Twin> twin_;
};

}  // namespace gh::parts
