// The loops of kmeans_kernels.hpp, written once for vectors of any size.
#pragma once

#include "kmeans_search.hpp"

namespace gh {
inline namespace v1 {
namespace {

// ---- sums ----

// Adds kRows rows to out. They lie anywhere in memory, so those that come next are fetched
// meanwhile.
template <class T, int kRows>
GH_INLINE void add_rows(const T* const* rows, const T* const* next, int64_t width, double* out) {
  constexpr int64_t kLine = 64 / sizeof(T);
  int64_t d = 0;
  for (; d + kDoubles <= width; d += kDoubles) {
    if (d % kLine == 0)
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) __builtin_prefetch(next[r] + d);
    Doubles sum = load_doubles(rows[0] + d);
#pragma GCC unroll 4
    for (int r = 1; r < kRows; ++r) sum += load_doubles(rows[r] + d);
    Lanes<double>::store(out + d, Lanes<double>::load(out + d) + sum);
  }
  for (; d < width; ++d)
    for (int r = 0; r < kRows; ++r) out[d] += static_cast<double>(rows[r][d]);
}

template <class T>
void sum(const T* x, int64_t width, const int32_t* rows, int64_t count, double* out) {
  for (int64_t d = 0; d < width; ++d) out[d] = 0;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const T *four[4], *next[4];
    for (int64_t r = 0; r < 4; ++r) {
      four[r] = x + rows[i + r] * width;
      next[r] = x + rows[i + 4 + r < count ? i + 4 + r : i] * width;
    }
    add_rows<T, 4>(four, next, width, out);
  }
  for (; i < count; ++i) {
    const T* const row = x + rows[i] * width;
    add_rows<T, 1>(&row, &row, width, out);
  }
}

template <class T>
void squares(const T* x, int64_t width, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i, x += width) {
    Doubles sums[4] = {};
    int64_t d = 0;
    for (; d + 4 * kDoubles <= width; d += 4 * kDoubles)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const Doubles v = load_doubles(x + d + j * kDoubles);
        sums[j] += v * v;
      }
    double square = total((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; d < width; ++d) square += static_cast<double>(x[d]) * static_cast<double>(x[d]);
    out[i] = square;
  }
}

// ---- k-means++ ----

template <class T, int kCandidates>
GH_INLINE void distances(const T* x, int64_t width, const T* const* centres, T* out) {
  using L = Lanes<T>;
  typename L::Vector sums[kCandidates] = {};
  int64_t d = 0;
  for (; d + L::kCount <= width; d += L::kCount) {
    const typename L::Vector v = L::load(x + d);
#pragma GCC unroll 6
    for (int j = 0; j < kCandidates; ++j) {
      const typename L::Vector apart = v - L::load(centres[j] + d);
      sums[j] += apart * apart;
    }
  }
#pragma GCC unroll 6
  for (int j = 0; j < kCandidates; ++j) {
    T total = 0;
    for (int k = 0; k < L::kCount; ++k) total += sums[j][k];
    for (int64_t e = d; e < width; ++e) total += (x[e] - centres[j][e]) * (x[e] - centres[j][e]);
    out[j] = total;
  }
}

template <class T>
void nearest(const T* x, int64_t width, int64_t count, const T* const* centres, int64_t candidates,
             const T* before, T* out, int64_t stride, double* sums) {
  for (int64_t j = 0; j < candidates; ++j) sums[j] = 0;
  for (int64_t i = 0; i < count; ++i, x += width) {
    T found[kKMeansCandidates];
    int64_t j = 0;
    for (; j + 6 <= candidates; j += 6) distances<T, 6>(x, width, centres + j, found + j);
    for (; j + 3 <= candidates; j += 3) distances<T, 3>(x, width, centres + j, found + j);
    for (; j < candidates; ++j) distances<T, 1>(x, width, centres + j, found + j);
    for (j = 0; j < candidates; ++j) {
      const T least = found[j] < before[i] ? found[j] : before[i];
      out[j * stride + i] = least;
      sums[j] += static_cast<double>(least);
    }
  }
}

template <class T>
constexpr KMeansKernels<T> kKMeansLoops = {Lanes<T>::kCount, kPanel,     assign<T>,
                                           sum<T>,           squares<T>, nearest<T>};

}  // namespace
}  // namespace v1
}  // namespace gh
