// SimSiam (Chen and He 2021): each view predicts the embedding of the other, which stands still.
#include "gh/component.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/two_views.hpp"
#include "gh/rows.hpp"

namespace {

using gh::unit_rows;
using gh::parts::HeadSpec;
using gh::parts::LastNorm;

HeadSpec projector(const gh::Params& params) {
  if (params.text("projector") == "none") return {};
  HeadSpec head{.hidden_bias = false, .last_bias = false, .last_norm = LastNorm::fixed};
  head.widths.assign(params.integer("layers") - 1, params.integer("hidden"));
  head.widths.push_back(params.integer("embedding"));
  return head;
}

class SimSiam final : public gh::parts::TwoViews {
 public:
  explicit SimSiam(const gh::Params& params)
      : TwoViews(projector(params),
                 "SimSiam has nothing but predictor and stopped gradient against it: a lower "
                 "learning rate, predictor_rate = \"fixed\" and stronger views may help"),
        predictor_hidden_(params.integer("predictor_hidden")),
        predictor_role_(params.text("predictor_rate") == "fixed" ? gh::parts::Role::fixed_rate
                                                                 : gh::parts::Role::trained) {}

  void build(gh::Host& host) override {
    TwoViews::build(host);
    const int64_t width = embedding_width();
    predictor_ =
        add("predictor",
            gh::parts::make_head(host, "predictor", width,
                                 {.widths = {predictor_hidden_, width}, .hidden_bias = false}),
            predictor_role_);
  }

  // −½ [cos(p₁, z₂) + cos(p₂, z₁)], z without gradient.
  at::Tensor loss(const gh::Batch&, gh::Step&, const at::Tensor& z1,
                  const at::Tensor& z2) override {
    const auto cosine = [this](const at::Tensor& from, const at::Tensor& to) {
      return (unit_rows(predictor_->forward(from)) * unit_rows(to.detach())).sum(1).mean();
    };
    const at::Tensor first = cosine(z1, z2);  // in this order, for normalisation's statistics
    return (first + cosine(z2, z1)) * -0.5;
  }

 private:
  int64_t predictor_hidden_;
  gh::parts::Role predictor_role_;
  std::shared_ptr<gh::Sequential> predictor_;
};

constexpr gh::Param kParams[] = {
    gh::parts::projector_param(
        "head between backbone and loss: linear layers with BN, the last without scale and "
        "shift, and ReLU between; or nothing"),
    gh::integer("layers", "2", "linear layers of the projector").at_least(1).at_most(16),
    gh::parts::hidden_param("2048", "width between them; 0: that of the features"),
    gh::parts::width_param("embedding", "2048", "width of the projector's output"),
    gh::parts::width_param("predictor_hidden", "512", "width inside the predictor"),
    gh::choice("predictor_rate", "fixed", "fixed|scheduled",
               "the predictor keeps the first learning rate, or follows the schedule"),
};

constexpr gh::Component kComponents[] = {
    gh::describe<SimSiam>("simsiam", "SimSiam: each view predicts the other, without negatives",
                          kParams)
        .with_facts({.paper = "Chen and He, CVPR 2021",
                     .views = "2",
                     .state = "encoder, projector, predictor",
                     .ranks = "nothing: a mean over samples"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "SimSiam (Chen and He, CVPR 2021): predictor and stopped gradient, no negatives")
