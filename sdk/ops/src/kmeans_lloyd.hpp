// K-means of checked tensors on the CPU with a given set of kernels, so that tests can try each.
#pragma once

#include "kmeans_kernels.hpp"

#include "gh/ops/kmeans.hpp"

#include <vector>

namespace gh {
inline namespace v1 {

// Rows of one length in memory, and what both parts of the algorithm ask of them.
template <class T>
struct KMeansRows {
  at::Tensor x;              // [N, width] contiguous; scaled, or moved by −mean
  at::Tensor squares;        // [N] float64 |x|²
  std::vector<double> mean;  // [width]; empty: not moved
};

// Rows of unit length for cosines; otherwise moved to their mean where they lie so far from the
// origin that |x|² − 2·x·c + |c|² would lose digits. ErrorCode::numeric where values are not
// finite.
template <class T>
KMeansRows<T> kmeans_rows(const at::Tensor& x, ops::KMeansMetric metric,
                          const KMeansKernels<T>& kernels);

// Numbers of the rows that are the first centres.
template <class T>
std::vector<int64_t> plus_plus(const KMeansRows<T>& rows, int64_t clusters, Random random,
                               const KMeansKernels<T>& kernels);

enum class KMeansSearch { bounded, exhaustive };  // the same labels, sooner or later

template <class T>
ops::KMeansResult lloyd(const KMeansRows<T>& rows, const at::Tensor& start,
                        const ops::KMeansOptions& options, const KMeansKernels<T>& kernels,
                        KMeansSearch search = KMeansSearch::bounded);

}  // namespace v1
}  // namespace gh
