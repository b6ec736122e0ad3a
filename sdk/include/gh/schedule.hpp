// Schedules that methods drive themselves: momentum of a twin, temperature, ramps. Pure functions
// of a position, given in steps or epochs, whole or fractional; the learning rate is the recipe's.
//
//   const gh::Progress& now = host.progress();
//   twin_momentum_ = gh::ema_momentum(0.99, now.step, now.steps);
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gh {
inline namespace v1 {

// From 0 at position 0 to 1 at `length` and after; 1 throughout when length ≤ 0.
inline double linear_warm_up(double position, double length) noexcept {
  return length > 0 ? std::clamp(position / length, 0.0, 1.0) : 1.0;
}

// Half a cosine: `from` at position 0, `to` at `length` and after.
inline double half_cosine(double from, double to, double position, double length) noexcept {
  const double turn = std::cos(std::numbers::pi * linear_warm_up(position, length));
  return to + (from - to) * (1 + turn) / 2;
}

// Momentum of an exponential moving average that ends as a frozen copy (BYOL, MoCo-v3, MSN): `base`
// at position 0, 1 at `length` and after.
inline double ema_momentum(double base, double position, double length) noexcept {
  return half_cosine(base, 1.0, position, length);
}

// Temperature that swings for ever (TS): `high` at position 0, `low` at `half_period`, `high` again
// at twice that. TS counts epochs from 1.
inline double cosine_temperature(double low, double high, double position,
                                 double half_period) noexcept {
  return low + (high - low) * (1 + std::cos(std::numbers::pi * position / half_period)) / 2;
}

}  // namespace v1
}  // namespace gh
