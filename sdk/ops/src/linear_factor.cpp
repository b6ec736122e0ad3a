#include "linear_factor.hpp"

#include "gh/ops/linear_classifier.hpp"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

namespace gh {
inline namespace v1 {

at::Tensor linear_product(const at::Tensor& a, const at::Tensor& b) {
  return ops::linear_scores(a, {b, at::zeros({b.size(0)}, b.options())});
}

namespace {

// The lower factor of a symmetric block, in place; what lies above its diagonal becomes zero.
void factor_block(const at::Tensor& block, double least) {
  auto a = block.accessor<double, 2>();
  const int64_t n = a.size(0);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], least));
    for (int64_t i = j + 1; i < n; ++i) {
      for (int64_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
      a[j][i] = 0;
    }
  }
}

// The inverse of a lower triangle.
at::Tensor inverse_block(const at::Tensor& block) {
  const at::Tensor out = at::zeros_like(block);
  auto a = block.accessor<double, 2>();
  auto b = out.accessor<double, 2>();
  for (int64_t i = 0; i < a.size(0); ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double sum = i == j ? 1 : 0;
      for (int64_t k = j; k < i; ++k) sum -= a[i][k] * b[k][j];
      b[i][j] = sum / a[i][i];
    }
  return out;
}

}  // namespace

LinearFactor factorise(const at::Tensor& matrix, double least) {
  constexpr int64_t kBlock = 64;
  const int64_t n = matrix.size(0);
  const at::Tensor lower = matrix.clone();
  const at::Tensor turned = at::zeros_like(lower);  // the inverse, transposed
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t size = std::min(kBlock, n - at), rest = n - at - size;
    const at::Tensor rows = lower.narrow(0, at, size), diagonal = rows.narrow(1, at, size);
    factor_block(diagonal, least);
    const at::Tensor inverse = inverse_block(diagonal.contiguous());
    if (rest > 0) {
      const at::Tensor below = lower.narrow(0, at + size, rest);
      const at::Tensor solved = linear_product(below.narrow(1, at, size), inverse);
      below.narrow(1, at, size).copy_(solved);
      below.narrow(1, at + size, rest).sub_(linear_product(solved, solved));
      rows.narrow(1, at + size, rest).zero_();
    }
    turned.narrow(0, at, size).narrow(1, at, size).copy_(inverse.t());
    if (at == 0) continue;
    const at::Tensor before = turned.narrow(0, 0, at);
    const at::Tensor reached = linear_product(before.narrow(1, 0, at), rows.narrow(1, 0, at));
    before.narrow(1, at, size).copy_(linear_product(reached, inverse).neg_());
  }
  return {lower, turned.t().contiguous()};
}

}  // namespace v1
}  // namespace gh
