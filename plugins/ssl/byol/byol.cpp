// BYOL (Grill et al. 2020): an online network predicts, from one view, what a slowly moving average
// of it makes of the other.
#include "gh/component.hpp"
#include "gh/parts/predicted_twin.hpp"
#include "gh/rows.hpp"

namespace {

using gh::unit_rows;

class Byol final : public gh::parts::PredictedTwin {
 public:
  explicit Byol(const gh::Params& params) : PredictedTwin(params, {.head = {.last_bias = false}}) {}

  // Mean of |p̂ − t̂|².
  at::Tensor one_way(const at::Tensor& prediction, const at::Tensor& target) override {
    return (unit_rows(prediction) - unit_rows(target)).square().sum(1).mean();
  }
};

constexpr gh::Param kParams[] = {
    GH_PREDICTED_TWIN_PARAMS("linear, BN, ReLU, linear without bias"),
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
