// Spreads points over the sphere by minimising the potential while its temperature falls. A low
// temperature at the end makes the potential the largest cosine; a high one at the beginning lets
// points pass each other.
#pragma once

#include "objective.hpp"

#include <cstdint>

namespace gradient {

// Raise it with every change to search() or Potential that changes numbers: cached points of other
// versions are not used.
constexpr int kAlgorithm = 1;

struct SearchPlan {
  Form form = Form::all;
  double tau = 0.002;  // in the end
  int64_t steps = 500;
};

// `start` [K, width] float64, K ≥ 2, width ≥ 2, rows in general position. Returns [K, width]
// float64 with unit rows and zero sum. The same bits for any number of threads.
at::Tensor search(const SearchPlan& plan, const at::Tensor& start);

}  // namespace gradient
