// Base of methods whose network predicts, from each view, the embedding of the other, which stands
// still (SimSiam): a method is its parameters, or what it does with the losses of samples.
#pragma once

#include "gh/params.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/two_views.hpp"
#include "gh/rows.hpp"

#include <cstdint>
#include <memory>

namespace gh::parts {

// Splice into a method's own parameters: {gh::real("radius", …), GH_PREDICTED_VIEW_PARAMS}.
#define GH_PREDICTED_VIEW_PARAMS                                                            \
  gh::parts::projector_param(                                                               \
      "head between backbone and loss: linear layers with BN, the last without scale and "  \
      "shift, and ReLU between; or nothing"),                                               \
      gh::integer("layers", "2", "linear layers of the projector").at_least(1).at_most(16), \
      gh::parts::hidden_param("2048", "width between them; 0: that of the features"),       \
      gh::parts::width_param("embedding", "2048", "width of the projector's output"),       \
      gh::parts::width_param("predictor_hidden", "512", "width inside the predictor"),      \
      gh::choice("predictor_rate", "fixed", "fixed|scheduled",                              \
                 "the predictor keeps the first learning rate, or follows the schedule")

class PredictedView : public TwoViews {
 public:
  // `params` declares GH_PREDICTED_VIEW_PARAMS.
  explicit PredictedView(const Params& params)
      : TwoViews(projector_of(params),
                 "Nothing but predictor and stopped gradient stands against it: a lower learning "
                 "rate, predictor_rate = \"fixed\" and stronger views may help"),
        predictor_hidden_(params.integer("predictor_hidden")),
        predictor_role_(params.text("predictor_rate") == "fixed" ? Role::fixed_rate
                                                                 : Role::trained) {}

  void build(Host& host) override {
    TwoViews::build(host);
    const int64_t width = embedding_width();
    predictor_ = add("predictor",
                     make_head(host, "predictor", width,
                               {.widths = {predictor_hidden_, width}, .hidden_bias = false}),
                     predictor_role_);
  }

  // −½ [cos(p₁, z₂) + cos(p₂, z₁)] of each sample, [B]; z stands still where it is a target.
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) {
    const auto cosine = [this](const at::Tensor& from, const at::Tensor& to) {
      return (unit_rows(predictor_->forward(from)) * unit_rows(to.detach())).sum(1);
    };
    const at::Tensor first = cosine(z1, z2);  // in this order, for normalisation's statistics
    return (first + cosine(z2, z1)) * -0.5;
  }
  at::Tensor loss(const Batch&, Step&, const at::Tensor& z1, const at::Tensor& z2) override {
    return losses(z1, z2).mean();
  }

 private:
  static HeadSpec projector_of(const Params& params) {
    if (params.text("projector") == "none") return {};
    HeadSpec head{.hidden_bias = false, .last_bias = false, .last_norm = LastNorm::fixed};
    head.widths.assign(params.integer("layers") - 1, params.integer("hidden"));
    head.widths.push_back(params.integer("embedding"));
    return head;
  }

  int64_t predictor_hidden_;
  Role predictor_role_;
  std::shared_ptr<Sequential> predictor_;
};

}  // namespace gh::parts
