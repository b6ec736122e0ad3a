// Inner loops of batch normalisation, compiled once for every processor and once for AVX2. They
// work on one part of a tensor; how a tensor is cut into parts depends on its shape alone, so that
// the number of threads changes no bit.
//
// A part is either `rows` rows of [rows, C], one column a channel (channels-last, vectors), or one
// plane of `n` values of a single channel (contiguous images). Constants are arrays of C values
// for the former and of one value for the latter.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

// y = act((x − mean)·scale + bias + residual)
template <class T>
struct NormForward {
  const T* x;
  const T* residual;  // null: none
  T* y;
  const T *mean, *scale, *bias;
  bool relu;
};

// The gradient at the output, before the activation where there is one:
//   g = dy·[(x − mean)·scale + bias > 0]   with by_input, that is, without residual
//   g = dy·[y > 0]                         with y
//   g = dy                                 otherwise
template <class T>
struct NormGradient {
  const T* dy;
  const T* x;
  const T* y;  // null: not needed
  const T *mean, *scale, *bias;
  bool by_input;
};

template <class T>
struct NormKernels {
  using Sets = KernelSets<KernelSet::avx2, KernelSet::portable>;
  // Mean and Σ(x − mean)² of each channel; `room` for C values.
  void (*moments_rows)(const T* x, int64_t rows, int64_t channels, T* room, double* mean,
                       double* squares);
  void (*moments_plane)(const T* x, int64_t n, double* mean, double* squares);
  void (*forward_rows)(const NormForward<T>& f, int64_t rows, int64_t channels);
  void (*forward_plane)(const NormForward<T>& f, int64_t n);
  // Σg and Σg·(x − mean) of each channel; where g depends on y, g itself into `out`, too.
  void (*reduce_rows)(const NormGradient<T>& g, int64_t rows, int64_t channels, T* out, double* sum,
                      double* product);
  void (*reduce_plane)(const NormGradient<T>& g, int64_t n, T* out, double* sum, double* product);
  // dx = a·g + (b·(x − mean) + c)
  void (*backward_rows)(const NormGradient<T>& g, int64_t rows, int64_t channels, const T* a,
                        const T* b, const T* c, T* dx);
  void (*backward_plane)(const NormGradient<T>& g, int64_t n, T a, T b, T c, T* dx);
};

}  // namespace v1
}  // namespace gh
