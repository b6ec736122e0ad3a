// Inner loops of Sinkhorn's iteration, compiled for every processor, for AVX2 and for AVX-512. Each
// works on one problem on the calling thread; sinkhorn_solver.hpp puts them together.
//
// Layout. The matrix is [rows][stride]: `stride` is K rounded up to `width` values, `rows` is N
// rounded up to kSinkhornRows; what is filled up holds ones. Arrays over points have `stride`
// values, the prior of those filled up is zero; arrays over samples have `rows` values.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

inline constexpr int64_t kSinkhornRows = 8;

template <class T>
struct SinkhornSamples {
  const T* matrix;
  int64_t samples, stride;
  T share;
  const T* points;    // r
  T* factors;         // c
  T* sums;            // Gᵀc
  T* room;            // `stride` values
  double relaxation;  // 1: plain
};

// r ← π·s,  s ← 1 ⊘ Gᵀc
template <class T>
struct SinkhornPoints {
  int64_t stride;
  const T* prior;
  const T* sums;  // Gᵀc
  T* factors;     // s
  T* points;      // r
  double relaxation;
};

template <class T>
struct SinkhornKernels {
  using Sets = EverySet;
  int64_t width;
  // Smallest and largest of n ≥ 1 values; false where one is not finite.
  bool (*extremes)(const T* values, int64_t n, T* smallest, T* largest);
  // Largest scale·x[j] + column[j] of k.
  double (*largest)(const T* x, int64_t k, double scale, const double* column);
  // matrix[j] = exp(scale·x[j] + row + column[j]) for k, never 0, and ones up to the stride.
  void (*exponentials)(const T* x, int64_t k, double scale, double row, const double* column,
                       T* matrix, int64_t stride);
  // to[i] += log(scale·values[i]) for n.
  void (*add_logarithms)(const T* values, int64_t n, double scale, double* to);
  // Returns Σ |s/s' − 1| over points whose prior is not zero.
  double (*points)(const SinkhornPoints<T>& p);
  // Gᵀc of the factors as they are.
  void (*sums)(const SinkhornSamples<T>& s);
  // c ← share ⊘ G r, and at once Gᵀc.
  void (*samples)(const SinkhornSamples<T>& s);
  // targets[j] = scale·matrix[j]·points[j] for k.
  void (*targets)(const T* matrix, const T* points, T scale, int64_t k, T* targets);
};

}  // namespace v1
}  // namespace gh
