// What pulls and pushes the points of a map, and how far it is from the features:
//
//   w_ij = 1/(1 + |y_i − y_j|²),  q_ij = w_ij/Z,  Z = Σ_{k≠l} w_kl
//   KL = Σ p_ij·log(p_ij/q_ij),   ∂KL/∂y_i = 4·Σ_j (p_ij − q_ij)·w_ij·(y_i − y_j)
//
// Sums run in one order, whatever the number of threads.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <vector>

namespace tsne {

class Forces {
 public:
  // `p` [N, N] float64, symmetric, sum 1, zero on the diagonal.
  explicit Forces(const at::Tensor& p);

  int64_t points() const { return n_; }
  // ∂KL/∂y with p times `exaggeration`. `y` and `out` are [2][N]: all x, then all y.
  void gradient(const std::vector<float>& y, double exaggeration, std::vector<float>& out);
  double kl(const std::vector<float>& y) const;

 private:
  int64_t n_, blocks_;
  // Block b holds p of rows 64·b … 64·b + 63 as [N][64]: read from front to back, the loop over
  // rows of a block has neither a rest nor sums across it. Rows behind the last are zero.
  std::vector<float> tiles_;
  double p_log_p_ = 0;
  std::vector<float> sums_;  // [blocks][5][64]
};

}  // namespace tsne
