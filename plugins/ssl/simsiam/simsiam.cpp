// SimSiam (Chen and He 2021): each view predicts the embedding of the other, which stands still.
#include "gh/component.hpp"
#include "gh/parts/predicted_view.hpp"

namespace {

using SimSiam = gh::parts::PredictedView;

constexpr gh::Param kParams[] = {GH_PREDICTED_VIEW_PARAMS};

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
