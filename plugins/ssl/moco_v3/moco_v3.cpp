// MoCo v3 (Chen, Xie and He 2021): predictions of each view are told from the other views of the
// batch as a moving average of the network sees them.
#include "gh/component.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/parts/predicted_twin.hpp"

namespace {

class MocoV3 final : public gh::parts::PredictedTwin {
 public:
  explicit MocoV3(const gh::Params& params)
      : PredictedTwin(params, {.head = {.hidden_bias = false, .last_bias = false},
                               .projector_norm = gh::parts::LastNorm::fixed,
                               .update = gh::parts::TwinUpdate::before_forward}),
        temperature_(params.real("temperature")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    PredictedTwin::check(facts, out);
    gh::parts::require_two_samples(facts, out, "InfoNCE needs negatives");
  }

  // 2τ · CE(q̂k̂ᵀ/τ), partners on the diagonal.
  at::Tensor one_way(const at::Tensor& prediction, const at::Tensor& target) override {
    return 2 * temperature_ * gh::parts::info_nce(host(), prediction, target, temperature_).mean();
  }

 private:
  double temperature_;
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.2", "softmax temperature of InfoNCE").above(0),
    GH_PREDICTED_TWIN_PARAMS("linear, BN, ReLU, linear, BN without scale and shift"),
};

constexpr gh::Component kComponents[] = {
    gh::describe<MocoV3>("moco_v3", "MoCo v3: symmetric InfoNCE against a momentum twin", kParams)
        .with_facts({.paper = "Chen, Xie and He, ICCV 2021",
                     .views = "2",
                     .state = "encoder, projector, predictor, twin",
                     .ranks = "targets: own predictions against those of all ranks"}),
};

}  // namespace

GH_PLUGIN(
    kComponents, .license = "MIT", .authors = "the ghhost authors",
    .doc = "MoCo v3 (Chen, Xie and He, ICCV 2021): predictor, momentum twin, in-batch negatives")
