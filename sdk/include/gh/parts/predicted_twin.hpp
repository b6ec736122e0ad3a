// Base of methods whose network predicts, from each view, what a momentum twin makes of the other
// (BYOL, MoCo v3): a method is what it makes of predictions and targets.
#pragma once

#include "gh/parts/twin.hpp"
#include "gh/parts/two_views.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace gh::parts {

class PredictedTwin : public TwoViews {
 public:
  // The predictor takes what the projector gives; a last width of 0 gives as much back.
  PredictedTwin(HeadSpec projector, HeadSpec predictor, const TwinSpec& twin)
      : TwoViews(std::move(projector)), predictor_spec_(std::move(predictor)), twin_spec_(twin) {}

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
  HeadSpec predictor_spec_;
  TwinSpec twin_spec_;
  std::shared_ptr<Sequential> predictor_;
  std::optional<Twin> twin_;
};

}  // namespace gh::parts
