#include "train/schedule.hpp"

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

double Schedule::rate(int64_t epoch) const {
  if (id == "constant") return lr;
  const int64_t number = epoch + 1;
  const double e = static_cast<double>(number);
  if (number < warm_up) return lr * e / static_cast<double>(warm_up);
  if (id == "cosine") return cosine(lr, lr_min, e, warm_up, epochs);
  if (number < stage2_begins) return cosine(lr, stage1_end, e, warm_up, stage2_begins);
  return cosine(stage2_start, lr_min, e, stage2_begins, epochs);
}

}  // namespace gh::host
