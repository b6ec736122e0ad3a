// The kernels of this directory for tensors. Arguments are checked, float32 and on one CUDA device.
#pragma once

#include "contrastive_pass.hpp"

#include "gh/ops/kmeans.hpp"
#include "gh/ops/sinkhorn.hpp"

#include <span>
#include <vector>

namespace gh {
inline namespace v1 {
namespace ops {

// priors: of each problem [K], sums to 1. Linear where that is safe in float32, otherwise log.
std::vector<SinkhornResult> sinkhorn_on_cuda(std::span<const SinkhornProblem> problems,
                                             std::span<const std::vector<double>> priors,
                                             const SinkhornOptions& options);

KMeansResult kmeans_on_cuda(const at::Tensor& x, const at::Tensor& start,
                            const KMeansOptions& options);

// [n] each: log Σ exp(s_ij) over negatives, and the positive's score.
void contrastive_logits_on_cuda(const ContrastiveScores& scores, std::vector<double>& negatives,
                                std::vector<double>& positive);
// Of the rows, or of the columns where there are some.
at::Tensor contrastive_gradient_on_cuda(const ContrastiveScores& scores,
                                        const ContrastiveWeights& weights, bool of_columns);

}  // namespace ops
}  // namespace v1
}  // namespace gh
