// K-means of checked tensors on the CPU with a given set of kernels, so that tests can try each.
#pragma once

#include "kmeans_rows.hpp"

namespace gh {
inline namespace v1 {

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
