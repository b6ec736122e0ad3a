// The rows that K-means works on, and sums over them in an order that no number of threads changes.
#pragma once

#include "kmeans_kernels.hpp"

#include "gh/ops/kmeans.hpp"
#include "gh/ops/parallel.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
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

inline constexpr int64_t kKMeansChunk = 512;  // rows that are summed as one

inline int64_t cut(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

template <class T>
at::Tensor kmeans_room(at::IntArrayRef shape) {
  return at::empty(shape, c10::CppTypeToScalarType<T>::value);
}

// Σ of term(i), in an order that lets a processor add several at a time.
template <class Term>
double sum_of(int64_t count, Term term) {
  constexpr int64_t kAtOnce = 8;
  double sums[kAtOnce] = {};
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    for (int64_t j = 0; j < kAtOnce; ++j) sums[j] += term(i + j);
  for (; i < count; ++i) sums[i % kAtOnce] += term(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// work(begin, end) for blocks of rows.
template <class Work>
void for_blocks(int64_t rows, int64_t block, Work work) {
  ops::parallel_indices(cut(rows, block),
                        [&](int64_t i) { work(i * block, std::min(rows, (i + 1) * block)); });
}

// out[width] += sign · Σ of these rows
struct Addition {
  const int32_t* rows;
  int64_t count;
  double sign;
  double* out;
};
// Rows are summed in chunks, chunks in their order, whoever does it.
template <class T>
void add_up(const T* x, int64_t width, const std::vector<Addition>& additions,
            const KMeansKernels<T>& kernels);

// [N] float64 |x|²; `name` is that of x in errors.
template <class T>
at::Tensor squares_of(const at::Tensor& x, const char* name, const KMeansKernels<T>& kernels);
// x + sign·mean
template <class T>
at::Tensor moved(const at::Tensor& x, const std::vector<double>& mean, double sign);
// x / |x|; zero rows stay zero.
template <class T>
at::Tensor scaled_to_unit(const at::Tensor& x, const at::Tensor& squares);

}  // namespace v1
}  // namespace gh
