// BYOL (Grill et al. 2020): an online network predicts, from one view, what a slowly moving average
// of it makes of the other.
#include "gh/component.hpp"
#include "gh/parts/predicted_twin.hpp"
#include "gh/rows.hpp"

namespace {

using gh::unit_rows;
using gh::parts::HeadSpec;

HeadSpec head(int64_t hidden, int64_t out) { return {.widths = {hidden, out}, .last_bias = false}; }

HeadSpec projector(const gh::Params& params) {
  if (params.text("projector") == "none") return {};
  return head(params.integer("hidden"), params.integer("embedding"));
}

class Byol final : public gh::parts::PredictedTwin {
 public:
  explicit Byol(const gh::Params& params)
      : PredictedTwin(projector(params), head(params.integer("hidden"), 0),
                      {.momentum = params.real("momentum")}) {}

  // Mean of |p̂ − t̂|².
  at::Tensor one_way(const at::Tensor& prediction, const at::Tensor& target) override {
    return (unit_rows(prediction) - unit_rows(target)).square().sum(1).mean();
  }
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
    gh::describe<Byol>("byol", "BYOL: predicts what a moving average of the network sees", kParams)
        .with_facts({.paper = "Grill et al., NeurIPS 2020",
                     .views = "2",
                     .state = "encoder, projector, predictor, twin",
                     .ranks = "nothing: a mean over samples"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "BYOL (Grill et al., NeurIPS 2020): predictor and momentum twin, no negatives")
