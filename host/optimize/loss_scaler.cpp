#include "optimize/loss_scaler.hpp"

namespace gh::host {

bool LossScaler::update(bool finite) {
  constexpr int64_t kGrowthInterval = 2000;
  if (!enabled_) return true;
  if (!finite) {
    scale_ /= 2;
    good_steps_ = 0;
    return false;
  }
  if (++good_steps_ == kGrowthInterval) {
    scale_ *= 2;
    good_steps_ = 0;
  }
  return true;
}

void LossScaler::visit_state(State& state) {
  state.real("scale", scale_);
  state.integer("good_steps", good_steps_);
}

}  // namespace gh::host
