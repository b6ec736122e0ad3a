// The factor on the loss under float16 autocast, so that small gradients do not vanish: as large as
// it may be without overflow. Pure bookkeeping; the trainer multiplies and divides.
#pragma once

#include "gh/state.hpp"

#include <cstdint>

namespace gh::host {

class LossScaler {
 public:
  // Disabled, the factor is 1 for good, and steps are taken whatever the gradients.
  explicit LossScaler(bool enabled) : enabled_(enabled), scale_(enabled ? 65536.0 : 1.0) {}

  double scale() const { return scale_; }

  // After backward, with whether every gradient is finite. True: take the step. Halves the factor
  // on false; doubles it after 2000 good steps in a row.
  bool update(bool finite);

  void visit_state(State& state);

 private:
  bool enabled_;
  double scale_;
  int64_t good_steps_ = 0;
};

}  // namespace gh::host
