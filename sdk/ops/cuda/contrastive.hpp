// Contrastive losses on a CUDA device; what they compute is said in gh/ops/contrastive.hpp. Plain
// pointers to device memory, float32 matrices.
//
// The matrix of scores is made tile by tile and never kept. Every sum has a fixed order: the same
// input gives the same bits on the same kind of device. Nothing waits for the device; errors are
// those of the launches.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gh {
inline namespace v1 {
namespace cuda {

struct ContrastiveScores {
  const float* rows;     // [row_count, width]
  const float* columns;  // [column_count, width]; the rows themselves for ContrastiveOwn::both
  const int* positive;   // [row_count] columns, or null
  const int* skipped;    // [row_count] columns, or null
  const float* inverse;  // [row_count] 1/temperature
  int row_count, column_count, width;
};

// log_sums[row_count]: log Σ exp(s_ij) over the negatives of each row; −∞ without one.
cudaError_t contrastive_log_sums(const ContrastiveScores& scores, double* log_sums,
                                 cudaStream_t stream);

// The loss depends on the score of negative j as weight·exp(s_ij − log_sum), on that of a positive
// among the columns as −weight.
struct ContrastiveWeights {
  const float* weight;   // [row_count], times 1/temperature
  const float* log_sum;  // [row_count], finite
};

// Whose gradient: out is [row_count or column_count, width].
enum class ContrastiveOwn { rows, columns, both };
cudaError_t contrastive_gradient(const ContrastiveScores& scores, const ContrastiveWeights& weights,
                                 ContrastiveOwn own, float* out, cudaStream_t stream);

}  // namespace cuda
}  // namespace v1
}  // namespace gh
