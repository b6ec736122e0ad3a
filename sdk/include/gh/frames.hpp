// What structures have in common: how many points, and a random orientation. Since SDK 1.1.
#pragma once

#include "gh/params.hpp"
#include "gh/random.hpp"
#include "gh/tensor.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_svd.h>

#include <cstdint>
#include <tuple>

namespace gh {
inline namespace v1 {

// The parameter "points" of a structure that takes `least` or more.
constexpr Param points_param(const char* default_toml, const char* doc, double least = 2) {
  return integer("points", default_toml, doc).at_least(least).at_most(65536);
}

// The matrix with orthonormal rows (or columns, of which there are fewer) that is closest to a
// Gaussian one: [rows, columns] float64. Advances `random`.
inline at::Tensor random_frame(int64_t rows, int64_t columns, Random& random) {
  const at::Tensor a = at::empty({rows, columns}, at::kDouble);
  random.fill_normal(a, 0, 1);
  const auto [u, s, vt] = at::linalg_svd(a, /*full_matrices=*/false);
  return u.matmul(vt);
}

}  // namespace v1
}  // namespace gh
