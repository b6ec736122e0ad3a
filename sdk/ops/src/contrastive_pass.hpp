// Contrastive losses of checked tensors on the CPU with a given set of kernels, so that tests can
// try each. Scores are made block by block, and again for the gradient; every sum runs in an order
// that depends on shapes alone.
#pragma once

#include "contrastive_kernels.hpp"

#include <ATen/core/Tensor.h>

#include <vector>

namespace gh {
inline namespace v1 {

// float32 or float64, contiguous.
struct ContrastiveScores {
  at::Tensor rows;                // [n, d]
  at::Tensor columns;             // [m, d]; undefined: the rows, positives mutual
  at::Tensor positives;           // [n, d], beside the columns; undefined: `positive`
  std::vector<int64_t> positive;  // [n] columns, or empty
  std::vector<int64_t> skipped;   // [n] columns, or empty
  std::vector<double> inverse;    // [n] 1/temperature
  bool among_rows() const { return !columns.defined(); }
  const at::Tensor& all() const { return among_rows() ? rows : columns; }
};

// How the loss of each row depends on its scores: that of negative j is weight·exp(s_ij − log_sum),
// that of the positive −weight. All times 1/temperature, so that they are factors of columns.
struct ContrastiveWeights {
  std::vector<double> weight, log_sum;  // [n]
};

// Up to so many scores are kept for the gradient of the rows, whatever the batch: making them again
// would be a third of the work.
inline constexpr int64_t kContrastiveKept = 1 << 20;

// log Σ exp(s_ij) over each row's negatives; −∞ without one. `kept`: null, or what becomes the
// scores in blocks where there are few enough.
template <class T>
std::vector<double> negative_log_sums(const ContrastiveScores& scores,
                                      const ContrastiveKernels<T>& kernels,
                                      at::Tensor* kept = nullptr);
// s_i⁺
template <class T>
std::vector<double> positive_scores(const ContrastiveScores& scores);

// Gradients of rows, [n, d], and of columns, [m, d]; among rows the former is all. `kept`: what
// negative_log_sums() kept, undefined if nothing.
template <class T>
at::Tensor rows_gradient(const ContrastiveScores& scores, const ContrastiveWeights& weights,
                         const ContrastiveKernels<T>& kernels, const at::Tensor& kept = {});
template <class T>
at::Tensor columns_gradient(const ContrastiveScores& scores, const ContrastiveWeights& weights,
                            const ContrastiveKernels<T>& kernels);

}  // namespace v1
}  // namespace gh
