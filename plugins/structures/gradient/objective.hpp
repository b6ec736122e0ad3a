// The potential that spreads points over the sphere, and its gradient.
//
//   all:  log Σᵢⱼ exp(xᵢ·xⱼ/τ)             the paper's
//   row:  meanᵢ log Σⱼ exp(xᵢ·xⱼ/τ)        that of targeted supervised contrastive learning (TSC)
//
// with xᵢ = Mᵢ/‖Mᵢ‖; i = j is included.
#pragma once

#include "row_blocks.hpp"

#include "gh/tensor.hpp"

namespace gradient {

enum class Form { all, row };

// For many evaluations at points of one shape, K ≥ 2; keeps its K×K matrix.
class Potential {
 public:
  Potential(Form form, int64_t points, int64_t width, at::TensorOptions options);

  struct Slope {
    double value;          // of the objective
    at::Tensor direction;  // [K, width], tangent to the sphere; overwritten by the next call
    // The gradient is exp(log_scale) · direction. Apart, because for small τ the term i = j, which
    // does not depend on the points, makes the factor smaller than any float.
    double log_scale;
  };
  // `x` [K, width] with unit rows.
  Slope at(const at::Tensor& x, double tau);

 private:
  Form form_;
  RowBlocks blocks_;
  at::Tensor kernel_, sums_, direction_;
};

struct Objective {
  double value;
  at::Tensor gradient;  // with respect to m, [K, width]
};
// `m` [K, width], rows of any length but zero.
Objective objective(Form form, const at::Tensor& m, double tau);

}  // namespace gradient
