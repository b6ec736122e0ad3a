// The loops of contrastive_kernels.hpp, written once for vectors of any size.
#pragma once

#include "contrastive_kernels.hpp"
#include "exponential.hpp"

namespace gh {
inline namespace v1 {
namespace {

// Sums of a tile, a row of b and one value fit the registers.
#if defined(__AVX512F__)
constexpr int kTileRows = 6, kTileVectors = 4;  // of 32
#else
constexpr int kTileRows = 4, kTileVectors = 3;  // of 16
#endif
static_assert(kContrastiveRows % kTileRows == 0);
template <class T>
constexpr int64_t kPanel = kTileVectors* Lanes<T>::kCount;

template <class T, int kVectors>
void multiply_panel(const ContrastiveProduct<T>& p) {
  using L = Lanes<T>;
  for (int64_t row = 0; row < kContrastiveRows; row += kTileRows) {
    typename L::Vector sums[kTileRows][kVectors];
#pragma GCC unroll 6
    for (int r = 0; r < kTileRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = typename L::Vector{};
    const T* const a = p.a + row * p.a_step;
    const T* b = p.b;
    for (int64_t k = 0; k < p.depth; ++k, b += p.b_step) {
      typename L::Vector right[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) right[v] = L::load(b + v * L::kCount);
#pragma GCC unroll 6
      for (int r = 0; r < kTileRows; ++r) {
        const typename L::Vector left = L::all(a[r * p.a_step + k]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] += left * right[v];
      }
    }
#pragma GCC unroll 6
    for (int r = 0; r < kTileRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        T* const out = p.out + (row + r) * p.out_step + v * L::kCount;
        L::store(out, p.add ? L::load(out) + sums[r][v] : sums[r][v]);
      }
  }
}

template <class T>
void multiply(const ContrastiveProduct<T>& p) {
  const int64_t vectors = p.columns / Lanes<T>::kCount;
  if (vectors == 1) return multiply_panel<T, 1>(p);
  if (vectors == 2) return multiply_panel<T, 2>(p);
  if (vectors == 3) return multiply_panel<T, 3>(p);
  if constexpr (kTileVectors > 3) multiply_panel<T, 4>(p);
}

template <class T>
void log_sums(const T* scores, int64_t columns, int64_t step, const T* inverse, T* largest,
              double* sums) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  for (int64_t r = 0; r < kContrastiveRows; ++r, scores += step) {
    const Vector factor = L::all(inverse[r]);
    Vector most = L::all(largest[r]);
    for (int64_t c = 0; c < columns; c += L::kCount)
      most = larger(L::load(scores + c) * factor, most);
    T top = most[0];
    for (int i = 1; i < L::kCount; ++i) top = larger(top, most[i]);
    constexpr T kNone = -static_cast<T>(__builtin_huge_val());
    const Vector above = L::all(top == kNone ? T(0) : top);
    Vector sum = {};
    for (int64_t c = 0; c < columns; c += L::kCount) {
      const Vector away = L::load(scores + c) * factor - above, e = exp_of<T>(away);
      sum += away == away ? e : away;
    }
    double total = 0;
    for (int i = 0; i < L::kCount; ++i) total += static_cast<double>(sum[i]);
    if (top > largest[r]) {
      // One value of few: a scalar exponential of the library's, though it is called here.
      sums[r] *= __builtin_exp(static_cast<double>(largest[r]) - static_cast<double>(top));
      largest[r] = top;
    }
    sums[r] += total;
  }
}

template <class T>
GH_INLINE typename Lanes<T>::Vector weight_of(typename Lanes<T>::Vector score,
                                              typename Lanes<T>::Vector weight,
                                              typename Lanes<T>::Vector inverse,
                                              typename Lanes<T>::Vector log_sum) {
  const typename Lanes<T>::Vector away = score * inverse - log_sum;
  return weight * (away == away ? exp_of<T>(away) : away);
}

template <class T, bool kRows, bool kColumns>
void weights_of(T* scores, int64_t columns, int64_t step, const ContrastiveSide<T>& rows,
                const ContrastiveSide<T>& of_columns) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  for (int64_t r = 0; r < kContrastiveRows; ++r, scores += step) {
    Vector weight = {}, inverse = {}, log_sum = {};
    if constexpr (kRows) {
      weight = L::all(rows.weight[r]);
      inverse = L::all(rows.inverse[r]);
      log_sum = L::all(rows.log_sum[r]);
    }
    for (int64_t c = 0; c < columns; c += L::kCount) {
      const Vector score = L::load(scores + c);
      Vector out = {};
      if constexpr (kRows) out += weight_of<T>(score, weight, inverse, log_sum);
      if constexpr (kColumns)
        out += weight_of<T>(score, L::load(of_columns.weight + c), L::load(of_columns.inverse + c),
                            L::load(of_columns.log_sum + c));
      L::store(scores + c, out);
    }
  }
}

template <class T>
void weights(T* scores, int64_t columns, int64_t step, const ContrastiveSide<T>& rows,
             const ContrastiveSide<T>& of_columns) {
  if (rows.weight && of_columns.weight)
    weights_of<T, true, true>(scores, columns, step, rows, of_columns);
  else if (rows.weight)
    weights_of<T, true, false>(scores, columns, step, rows, of_columns);
  else
    weights_of<T, false, true>(scores, columns, step, rows, of_columns);
}

template <class T>
constexpr ContrastiveKernels<T> kContrastiveLoops = {Lanes<T>::kCount, kPanel<T>, multiply<T>,
                                                     log_sums<T>, weights<T>};

}  // namespace
}  // namespace v1
}  // namespace gh
