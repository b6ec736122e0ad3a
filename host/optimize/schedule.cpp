#include "optimize/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gh::host {
namespace {

// Half a cosine from `high` at epoch `begin` to `low` at epoch `end`.
double cosine(double high, double low, double at, int64_t begin, int64_t end) {
  const double length = static_cast<double>(end - begin);
  const double progress = length > 0 ? (at - static_cast<double>(begin)) / length : 1;
  return low + (high - low) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

}  // namespace

double Schedule::rate(double position) const {
  if (id == "constant") return lr;
  const double e = per_step ? position : std::floor(position) + 1;
  if (e < static_cast<double>(warm_up)) return lr * e / static_cast<double>(warm_up);
  if (id == "cosine" && !per_step && has_no_descent()) return lr;
  return id == "step" ? stepped(position) : curve(e);
}

bool Schedule::has_no_descent() const { return epochs <= std::max<int64_t>(warm_up, 1); }

double Schedule::curve(double e) const {
  if (id == "cosine") return cosine(lr, lr_min, e, warm_up, epochs);
  if (e < static_cast<double>(stage2_begins))
    return cosine(lr, stage1_end, e, warm_up, stage2_begins);
  return cosine(stage2_start, lr_min, e, stage2_begins, epochs);
}

double Schedule::stepped(double position) const {
  const auto passed = std::count_if(milestones.begin(), milestones.end(), [&](int64_t milestone) {
    return static_cast<double>(milestone) <= position;
  });
  return lr * std::pow(gamma, static_cast<double>(passed));
}

}  // namespace gh::host
