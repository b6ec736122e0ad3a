// What the points of a structure are like, measured by the host, beside what is possible.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace gh::host {

// No `points` unit vectors in `width` dimensions have a largest cosine below `cosine`.
struct CosineBound {
  double cosine = -1;
  bool attained = false;  // some arrangement is known to reach it
};
// points ≥ 2, width ≥ 1.
CosineBound cosine_bound(int64_t points, int64_t width);

struct Certificate {
  int64_t points = 0, width = 0;
  double largest_cosine = 0, smallest_cosine = 0;  // of two different rows
  double norm_error = 0;                           // largest | ‖row‖ − 1 |
  double zero_sum = 0;                             // length of the sum of rows
  CosineBound bound{};

  // By how much the largest cosine exceeds the bound.
  double distance() const;
};

// `points` [K, width], K ≥ 2, any float dtype and device. `claimed` is the structure's own
// best_cosine(); it counts where it is sharper than what the host knows.
Certificate certify(const at::Tensor& points,
                    double claimed = std::numeric_limits<double>::quiet_NaN());

// One line for the reader of a run.
std::string to_text(const Certificate& certificate);

}  // namespace gh::host
