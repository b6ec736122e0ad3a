// The loops of linear_kernels.hpp, written once for vectors of any size.
#pragma once

#include "exponential.hpp"
#include "linear_kernels.hpp"

namespace gh {
inline namespace v1 {
namespace {

// A tile of sums fits the registers: 8 × 3 or 4 × 4 of 32, 8 × 1 or 4 × 2 of 16.
#if defined(__AVX512F__)
constexpr int kMostVectors = 4;
#else
constexpr int kMostVectors = 2;
#endif
template <int kVectors>
constexpr int kTileSide = kVectors == kMostVectors ? 4 : 8;
// Weights of that many dims and a panel stay in the first cache while a block's rows go by.
constexpr int64_t kDimsInCache = 64;

// ---- packing ----

template <class T>
void pack(const T* const* rows, int64_t count, int64_t width, T* packed) {
  constexpr int64_t kSize = kLinearRows * kLinearDims;
  for (int64_t r = 0; r < count; ++r) {
    // Rows lie anywhere in memory; the next but one is fetched meanwhile.
    const T* const row = rows[r];
    const T* const next = rows[r + 2 < count ? r + 2 : r];
    T* out = packed + r * kLinearDims;
    int64_t d = 0;
    for (; d + kLinearDims <= width; d += kLinearDims, out += kSize) {
      __builtin_prefetch(next + d);
#pragma GCC unroll 8
      for (int64_t i = 0; i < kLinearDims; i += Lanes<T>::kCount)
        Lanes<T>::store(out + i, Lanes<T>::load(row + d + i));
    }
    if (d == width) continue;
    for (int64_t i = 0; i < kLinearDims; ++i) out[i] = d + i < width ? row[d + i] : T(0);
  }
  const int64_t end = (count + kLinearTile - 1) / kLinearTile * kLinearTile;
  for (int64_t d = 0; d < width; d += kLinearDims, packed += kSize)
    for (int64_t i = count * kLinearDims; i < end * kLinearDims; ++i) packed[i] = 0;
}

// ---- products ----

// kRows rows of kVectors vectors of sums, held in registers between begin and end.
template <class T, int kRows, int kVectors>
struct TileSums {
  using L = Lanes<T>;
  static constexpr int kWide = kVectors * L::kCount;
  typename L::Vector sums[kRows][kVectors];

  GH_INLINE explicit TileSums(const T* from) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = L::load(from + r * kWide + v * L::kCount);
  }
  // Adds left[r · step] · right[kWide] to row r.
  GH_INLINE void multiply(const T* left, int64_t step, const T* right) {
    typename L::Vector w[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) w[v] = L::load(right + v * L::kCount);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const typename L::Vector value = L::all(left[r * step]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] += value * w[v];
    }
  }
  GH_INLINE void store(T* to) const {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) L::store(to + r * kWide + v * L::kCount, sums[r][v]);
  }
};

// kRows rows with `dims` of their values and one panel's weights for these.
template <class T, int kRows, int kVectors>
GH_INLINE void multiply_tile(const T* x, int64_t dims, const T* weight, T* scores) {
  TileSums<T, kRows, kVectors> tile(scores);
  for (int64_t block = 0; block < dims; block += kLinearDims, x += kLinearRows * kLinearDims)
    for (int64_t d = 0; d < kLinearDims; ++d, weight += tile.kWide)
      tile.multiply(x + d, kLinearDims, weight);
  tile.store(scores);
}

template <class T, int kVectors>
__attribute__((noinline)) void multiply_panel(const T* packed, int64_t rows, int64_t dims,
                                              const T* weight, T* scores) {
  constexpr int kSide = kTileSide<kVectors>, kWide = kVectors * Lanes<T>::kCount;
  for (int64_t d = 0; d < dims; d += kDimsInCache) {
    const int64_t now = dims - d < kDimsInCache ? dims - d : kDimsInCache;
    for (int64_t r = 0; r < rows; r += kSide)
      multiply_tile<T, kSide, kVectors>(packed + d * kLinearRows + r * kLinearDims, now,
                                        weight + d * kWide, scores + r * kWide);
  }
}

// kDims dims of x with one panel's errors: sums over rows.
template <class T, int kDims, int kVectors>
GH_INLINE void accumulate_tile(const T* x, int64_t rows, const T* errors, T* gradient) {
  TileSums<T, kDims, kVectors> tile(gradient);
  for (int64_t r = 0; r < rows; ++r, x += kLinearDims, errors += tile.kWide)
    tile.multiply(x, 1, errors);
  tile.store(gradient);
}

template <class T, int kVectors>
__attribute__((noinline)) void accumulate_panel(const T* packed, int64_t rows, int64_t dims,
                                                const T* errors, T* gradient) {
  constexpr int kSide = kTileSide<kVectors>, kWide = kVectors * Lanes<T>::kCount;
  for (int64_t d = 0; d < dims; d += kLinearDims, packed += kLinearRows * kLinearDims)
    for (int64_t i = 0; i < kLinearDims; i += kSide)
      accumulate_tile<T, kSide, kVectors>(packed + i, rows, errors, gradient + (d + i) * kWide);
}

// run<vectors>(): a panel's vectors as a constant.
template <class Run>
GH_INLINE void with_constant(int64_t vectors, const Run& run) {
  if (vectors == 1) return run.template operator()<1>();
  if (vectors == 2) return run.template operator()<2>();
  if constexpr (kMostVectors > 2) {
    if (vectors == 3) return run.template operator()<3>();
    return run.template operator()<4>();
  }
}

template <class T>
void multiply(const T* packed, int64_t rows, int64_t dims, const T* weight, int64_t vectors,
              T* scores) {
  with_constant(vectors, [&]<int kVectors>() {
    multiply_panel<T, kVectors>(packed, rows, dims, weight, scores);
  });
}

template <class T>
void accumulate(const T* packed, int64_t rows, int64_t dims, const T* errors, int64_t vectors,
                T* gradient) {
  with_constant(vectors, [&]<int kVectors>() {
    accumulate_panel<T, kVectors>(packed, rows, dims, errors, gradient);
  });
}

// ---- softmax ----

template <class T>
void exponentials(T* scores, int64_t rows, const int64_t* vectors, int64_t panels, T* sums,
                  T* largest) {
  using L = Lanes<T>;
  for (int64_t r = 0; r < rows; ++r) {
    typename L::Vector most = L::load(scores + r * vectors[0] * L::kCount);
    T* panel = scores;
    for (int64_t p = 0; p < panels; panel += kLinearRows * vectors[p++] * L::kCount)
      for (int64_t v = 0; v < vectors[p]; ++v) {
        const typename L::Vector z = L::load(panel + (r * vectors[p] + v) * L::kCount);
        most = z > most ? z : most;
      }
    T top = most[0];
    for (int i = 1; i < L::kCount; ++i) top = most[i] > top ? most[i] : top;
    const typename L::Vector above = L::all(top);
    typename L::Vector sum = {};
    panel = scores;
    for (int64_t p = 0; p < panels; panel += kLinearRows * vectors[p++] * L::kCount)
      for (int64_t v = 0; v < vectors[p]; ++v) {
        T* const at = panel + (r * vectors[p] + v) * L::kCount;
        // A NaN is not below the bound and stays one in the sum.
        const typename L::Vector away = L::load(at) - above;
        const typename L::Vector e = exp_of<T>(away);
        L::store(at, e);
        sum += away == away ? e : away;
      }
    T total = 0;
    for (int i = 0; i < L::kCount; ++i) total += sum[i];
    sums[r] = total;
    largest[r] = top;
  }
}

template <class T>
void scale(T* scores, int64_t rows, const int64_t* vectors, int64_t panels, const T* factors) {
  using L = Lanes<T>;
  for (int64_t p = 0; p < panels; scores += kLinearRows * vectors[p++] * L::kCount)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors[p]; ++v) {
        T* const at = scores + (r * vectors[p] + v) * L::kCount;
        L::store(at, L::load(at) * factors[r]);
      }
}

// ---- optimisers ----

template <class T>
void adam(const AdamStep<T>& step, int64_t n, const T* __restrict gradient, T* __restrict weight,
          T* __restrict mean, T* __restrict square) {
  const AdamStep<T> s = step;
  for (int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] + s.l2 * weight[i];
    mean[i] += (1 - s.keep1) * (g - mean[i]);
    square[i] = s.keep2 * square[i] + (1 - s.keep2) * (g * g);
    weight[i] -= s.rate * mean[i] / (root(square[i]) * s.root + s.epsilon);
  }
}

template <class T>
void sgd(const SgdStep<T>& step, int64_t n, const T* __restrict gradient, T* __restrict weight,
         T* __restrict mean) {
  const SgdStep<T> s = step;
  for (int64_t i = 0; i < n; ++i) {
    mean[i] = s.momentum * mean[i] + (gradient[i] + s.l2 * weight[i]);
    weight[i] -= s.rate * mean[i];
  }
}

template <class T>
constexpr LinearKernels<T> kLinearLoops = {Lanes<T>::kCount, kMostVectors,  pack<T>,
                                           multiply<T>,      accumulate<T>, exponentials<T>,
                                           scale<T>,         adam<T>,       sgd<T>};

}  // namespace
}  // namespace v1
}  // namespace gh
