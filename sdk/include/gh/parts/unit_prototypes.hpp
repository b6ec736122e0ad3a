// Learnt points of the unit sphere to which samples are assigned (SwAV, PMSN). They stay as drawn
// for a number of steps, and return to unit length after each.
#pragma once

#include "gh/host.hpp"
#include "gh/rows.hpp"
#include "gh/ssl.hpp"
#include "gh/state.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstdint>
#include <string_view>

namespace gh::parts {

class UnitPrototypes {
 public:
  // Even draws from the sphere, frozen for the first steps of a stage.
  void make(Host& host, int64_t count, int64_t width, int64_t frozen_steps) {
    points_ =
        at::empty({count, width}, at::TensorOptions(host.facts().device).dtype(host.facts().dtype));
    host.random("prototypes").fill_normal(points_, 0.0, 1.0);
    to_unit_length();
    points_.set_requires_grad(true);
    frozen_steps_ = frozen_steps;
  }

  const at::Tensor& points() const { return points_; }  // [K, width]
  int64_t count() const { return points_.size(0); }
  // Cosines, if `rows` [N, width] are of unit length: [N, K].
  at::Tensor scores(const at::Tensor& rows) const { return rows.matmul(points_.t()); }

  void trainable(Trainables& out) const { out.add(points_, Policy::normal, 1.0); }
  void visit_state(State& state, std::string_view name) { state.tensor(name, points_); }
  // Without a gradient, the optimiser leaves them alone.
  void before_update(const Progress& now) {
    if (now.step < frozen_steps_) points_.mutable_grad().reset();
  }
  void after_update(const Progress& now) {
    if (now.step >= frozen_steps_) to_unit_length();
  }

 private:
  void to_unit_length() {
    const at::NoGradGuard no_grad;
    points_.detach().copy_(unit_rows(points_.detach()));
  }

  at::Tensor points_;
  int64_t frozen_steps_ = 0;
};

}  // namespace gh::parts
