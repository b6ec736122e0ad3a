// The loops of sinkhorn_kernels.hpp, written once for vectors of any size. Sums are taken in lanes
// of 64 bytes, however many vectors that is, and lanes are added in one order: vectors of 32 and 64
// bytes give the same bits.
#pragma once

#include "sinkhorn_kernels.hpp"
#include "vectors.hpp"

namespace gh {
inline namespace v1 {
namespace {

constexpr int kParts = 64 / kVectorBytes;  // vectors of 64 bytes
// Rows whose products with r are summed at a time: eight sums hide the latency of one.
constexpr int kDotRows = kParts == 1 ? 8 : 4;
// Rows after which column sums start anew, so that the error does not grow with N.
constexpr int64_t kSumRows = 256;

using D = Doubles;
using I = Lanes<double>::Integers;

GH_INLINE D constant(double x) { return D{} + x; }

// ---- exp and log ----

// exp(f) for |f| ≤ log(2)/2, by its series: 5e-9 for float, 1e-17 for double, relative.
template <class T>
GH_INLINE D exp_series(D f) {
  constexpr double kInverse[] = {1.0,
                                 1.0,
                                 1.0 / 2,
                                 1.0 / 6,
                                 1.0 / 24,
                                 1.0 / 120,
                                 1.0 / 720,
                                 1.0 / 5040,
                                 1.0 / 40320,
                                 1.0 / 362880,
                                 1.0 / 3628800,
                                 1.0 / 39916800,
                                 1.0 / 479001600,
                                 1.0 / 6227020800};
  constexpr int kDegree = sizeof(T) == 4 ? 7 : 13;
  D sum = constant(kInverse[kDegree]);
#pragma GCC unroll 16
  for (int i = kDegree - 1; i >= 0; --i) sum = sum * f + kInverse[i];
  return sum;
}

// exp(y) as good as T can hold it, within T's normal numbers.
template <class T>
GH_INLINE D exp_of(D y) {
  constexpr double kLow = sizeof(T) == 4 ? -87 : -708, kHigh = sizeof(T) == 4 ? 88 : 709;
  constexpr double kRound = 6755399441055744.0;  // 1.5·2⁵²: what is added to it is rounded
  y = larger(smaller(y, constant(kHigh)), constant(kLow));
  const D shifted = y * 1.4426950408889634 + kRound;
  const D n = shifted - kRound;
  const D f = (y - n * 0.69314718055994529) - n * 2.3190468138462996e-17;
  const I power = reinterpret_cast<I>(shifted) << 52;
  return reinterpret_cast<D>(reinterpret_cast<I>(exp_series<T>(f)) + power);
}

// log(x) for normal x > 0: x = 2ᵉ·m with m near 1, log m = 2·artanh((m−1)/(m+1)).
GH_INLINE D log_of(D x) {
  constexpr double kBias = 4503599627370496.0;  // 2⁵²: its low bits are an integer
  const I bits = reinterpret_cast<I>(x);
  const I offset = bits - 0x3fe6a09e667f3bcdLL;  // √½: m lies in [√½, √2)
  const I exponent = (offset >> 52) + 1024;      // not negative
  const D e = reinterpret_cast<D>(exponent | reinterpret_cast<I>(constant(kBias))) - (kBias + 1024);
  const D m = reinterpret_cast<D>(bits - ((offset >> 52) << 52));
  const D s = (m - 1) / (m + 1), z = s * s;
  D sum = constant(2.0 / 21);
#pragma GCC unroll 16
  for (int i = 19; i >= 3; i -= 2) sum = sum * z + 2.0 / i;
  const D rest = sum * z * s + e * 2.3190468138462996e-17;
  return e * 0.69314718055994529 + (2 * s + rest);
}

// was·(plain/was)ʷ
template <class T>
GH_INLINE void relax(T* values, const T* plain, int64_t n, double relaxation) {
  for (int64_t i = 0; i < n; i += kDoubles) {
    const D was = load_doubles(values + i);
    const D ratio = load_doubles(plain + i) / was;
    store_doubles(values + i, was * exp_of<T>(log_of(ratio) * relaxation));
  }
}

// ---- sums over lanes ----

template <class T>
using Quarter = Lanes<T, 16>;

// Half of a vector's lanes, from the first or from the middle.
template <int kFirst, class V>
GH_INLINE auto half(V v) {
  constexpr int kLanes = sizeof(V) / sizeof(v[0]), f = kFirst * kLanes / 2;
  if constexpr (kLanes == 4)
    return __builtin_shufflevector(v, v, f, f + 1);
  else if constexpr (kLanes == 8)
    return __builtin_shufflevector(v, v, f, f + 1, f + 2, f + 3);
  else
    return __builtin_shufflevector(v, v, f, f + 1, f + 2, f + 3, f + 4, f + 5, f + 6, f + 7);
}

// The lanes of 64 bytes, folded to 16: (0 + 2) + (1 + 3).
template <class T>
GH_INLINE typename Quarter<T>::Vector fold(const typename Lanes<T>::Vector* part) {
  if constexpr (kParts == 4) {
    return (part[0] + part[2]) + (part[1] + part[3]);
  } else if constexpr (kParts == 2) {
    const typename Lanes<T>::Vector v = part[0] + part[1];
    return half<0>(v) + half<1>(v);
  } else {
    const auto v = half<0>(part[0]) + half<1>(part[0]);
    return half<0>(v) + half<1>(v);
  }
}

// And these to one: (0 + 2) + (1 + 3), or 0 + 1. Several rows at a time, four or two to a vector.
GH_INLINE Quarter<float>::Vector across(const Quarter<float>::Vector* v) {
  const Quarter<float>::Vector ab = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5) +
                                    __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const Quarter<float>::Vector cd = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5) +
                                    __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}
GH_INLINE Quarter<double>::Vector across(const Quarter<double>::Vector* v) {
  return __builtin_shufflevector(v[0], v[1], 0, 2) + __builtin_shufflevector(v[0], v[1], 1, 3);
}

// ---- one pass over the matrix ----

// to[i] = row i · r for kDotRows rows.
template <class T>
GH_INLINE void dots(const T* matrix, int64_t stride, const T* r, T* to) {
  using V = Lanes<T>;
  typename V::Vector sum[kDotRows][kParts] = {};
  int64_t j = 0;
  for (; j + kParts * V::kCount <= stride; j += kParts * V::kCount)
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      const typename V::Vector x = V::load(r + j + p * V::kCount);
#pragma GCC unroll 8
      for (int i = 0; i < kDotRows; ++i)
        sum[i][p] += V::load(matrix + i * stride + j + p * V::kCount) * x;
    }
#pragma GCC unroll 4
  for (int p = 0; p < kParts - 1; ++p, j += V::kCount) {
    if (j >= stride) break;
    const typename V::Vector x = V::load(r + j);
#pragma GCC unroll 8
    for (int i = 0; i < kDotRows; ++i) sum[i][p] += V::load(matrix + i * stride + j) * x;
  }
  typename Quarter<T>::Vector folded[kDotRows];
#pragma GCC unroll 8
  for (int i = 0; i < kDotRows; ++i) folded[i] = fold<T>(sum[i]);
#pragma GCC unroll 4
  for (int i = 0; i < kDotRows; i += Quarter<T>::kCount)
    Quarter<T>::store(to + i, across(folded + i));
}

// sums += Σ c[i]·row i for kSinkhornRows rows.
template <class T>
GH_INLINE void add_rows(const T* matrix, int64_t stride, const T* c, T* sums) {
  using V = Lanes<T>;
  typename V::Vector factor[kSinkhornRows];
#pragma GCC unroll 8
  for (int i = 0; i < kSinkhornRows; ++i) factor[i] = V::all(c[i]);
  // Two blocks ahead; every other line was measured to be best.
  const char* ahead = reinterpret_cast<const char*>(matrix + 2 * kSinkhornRows * stride);
  for (int64_t j = 0; j < stride; j += V::kCount) {
    typename V::Vector sum = V::load(sums + j);
#pragma GCC unroll 8
    for (int l = 0; l < kSinkhornRows * kVectorBytes / 128; ++l, ahead += 128)
      __builtin_prefetch(ahead);
#pragma GCC unroll 8
    for (int i = 0; i < kSinkhornRows; ++i) sum += V::load(matrix + i * stride + j) * factor[i];
    V::store(sums + j, sum);
  }
}

template <class T>
GH_INLINE void block_dots(const SinkhornSamples<T>& s, int64_t row, T* to) {
  for (int i = 0; i < kSinkhornRows; i += kDotRows)
    dots(s.matrix + (row + i) * s.stride, s.stride, s.points, to + i);
}

// c of a block from its products with r.
template <class T>
GH_INLINE void block_factors(const SinkhornSamples<T>& s, int64_t row, T* dot) {
  using Q = Quarter<T>;  // as dots() stored them: a wider load would wait for both stores
  T* const c = s.factors + row;
  if (s.relaxation == 1) {
    for (int i = 0; i < kSinkhornRows; i += Q::kCount) Q::store(c + i, s.share / Q::load(dot + i));
  } else {
    for (int i = 0; i < kSinkhornRows; i += Q::kCount)
      Q::store(dot + i, s.share / Q::load(dot + i));
    relax(c, dot, kSinkhornRows, s.relaxation);
  }
  for (int64_t i = s.samples; i < row + kSinkhornRows; ++i) s.factors[i] = 0;
}

// sums = Gᵀc. `update`: c are computed before. The factors of a block wait for its products; those
// of the next block are computed in between.
template <class T, bool update>
GH_INLINE void pass(const SinkhornSamples<T> s) {
  using V = Lanes<T>;
  alignas(64) T dot[kSinkhornRows];
  for (int64_t j = 0; j < s.stride; j += V::kCount) {
    V::store(s.sums + j, V::all(0));
    V::store(s.room + j, V::all(0));
  }
  if constexpr (update) block_dots(s, 0, dot);
  for (int64_t row = 0; row < s.samples; row += kSinkhornRows) {
    const int64_t next = row + kSinkhornRows;
    if constexpr (update) {
      block_factors(s, row, dot);
      if (next < s.samples) block_dots(s, next, dot);
    }
    add_rows(s.matrix + row * s.stride, s.stride, s.factors + row, s.room);
    if (next % kSumRows != 0 && next < s.samples) continue;
    for (int64_t j = 0; j < s.stride; j += V::kCount) {
      V::store(s.sums + j, V::load(s.sums + j) + V::load(s.room + j));
      V::store(s.room + j, V::all(0));
    }
  }
}

template <class T>
void sums(const SinkhornSamples<T>& s) {
  pass<T, false>(s);
}
template <class T>
void samples(const SinkhornSamples<T>& s) {
  pass<T, true>(s);
}

// ---- the rest ----

template <class T>
double points(const SinkhornPoints<T>& p) {
  using V = Lanes<T>;
  typename V::Vector change[kParts] = {};
  int part = 0;
  for (int64_t j = 0; j < p.stride; j += V::kCount) {
    const typename V::Vector was = V::load(p.factors + j), prior = V::load(p.prior + j);
    typename V::Vector now = 1 / V::load(p.sums + j);
    if (p.relaxation != 1) {
      alignas(64) T plain[V::kCount];
      V::store(plain, now);
      relax(p.factors + j, plain, V::kCount, p.relaxation);
      now = V::load(p.factors + j);
    }
    V::store(p.factors + j, now);
    V::store(p.points + j, prior * now);
    typename V::Vector step = now / was - 1;
    step = step < 0 ? -step : step;
    change[part] += prior > 0 ? step : V::all(0);
    part = (part + 1) % kParts;
  }
  const typename Quarter<T>::Vector folded[4] = {fold<T>(change)};
  return across(folded)[0];
}

template <class T>
bool extremes(const T* values, int64_t n, T* smallest, T* largest) {
  using V = Lanes<T>;
  T low = values[0], high = values[0], bad = 0;
  int64_t i = 0;
  if (n >= V::kCount) {
    typename V::Vector lows = V::load(values), highs = lows, bads = {};
    for (; i + V::kCount <= n; i += V::kCount) {
      const typename V::Vector x = V::load(values + i);
      lows = x < lows ? x : lows;
      highs = x > highs ? x : highs;
      bads += x - x;
    }
    for (int l = 0; l < V::kCount; ++l) {
      low = lows[l] < low ? lows[l] : low;
      high = highs[l] > high ? highs[l] : high;
      bad += bads[l];
    }
  }
  for (; i < n; ++i) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
    bad += values[i] - values[i];
  }
  *smallest = low;
  *largest = high;
  return bad == 0;
}

template <class T>
double largest(const T* x, int64_t k, double scale, const double* column) {
  int64_t j = 0;
  double out = scale * double(x[0]) + column[0];
  if (k >= kDoubles) {
    D highs = constant(out);
    for (; j + kDoubles <= k; j += kDoubles)
      highs = larger(load_doubles(x + j) * scale + Lanes<double>::load(column + j), highs);
    for (int l = 0; l < kDoubles; ++l) out = highs[l] > out ? highs[l] : out;
  }
  for (; j < k; ++j) {
    const double y = scale * double(x[j]) + column[j];
    out = y > out ? y : out;
  }
  return out;
}

// The last vector of a row that k does not fill goes through a room of its own.
template <class T>
void exponentials(const T* x, int64_t k, double scale, double row, const double* column, T* matrix,
                  int64_t stride) {
  int64_t j = 0;
  for (; j + kDoubles <= k; j += kDoubles)
    store_doubles(matrix + j,
                  exp_of<T>(load_doubles(x + j) * scale + (Lanes<double>::load(column + j) + row)));
  if (j < k) {
    alignas(64) T last[kDoubles] = {};
    alignas(64) double shift[kDoubles] = {};
    for (int64_t i = j; i < k; ++i) last[i - j] = x[i], shift[i - j] = column[i];
    store_doubles(last, exp_of<T>(load_doubles(last) * scale + (Lanes<double>::load(shift) + row)));
    for (int64_t i = j; i < k; ++i) matrix[i] = last[i - j];
  }
  for (j = k; j < stride; ++j) matrix[j] = 1;
}

template <class T>
void add_logarithms(const T* values, int64_t n, double scale, double* to) {
  int64_t i = 0;
  for (; i + kDoubles <= n; i += kDoubles)
    Lanes<double>::store(to + i,
                         Lanes<double>::load(to + i) + log_of(load_doubles(values + i) * scale));
  for (; i < n; ++i) to[i] += log_of(constant(double(values[i]) * scale))[0];
}

template <class T>
void targets(const T* matrix, const T* r, T scale, int64_t k, T* to) {
  using V = Lanes<T>;
  int64_t j = 0;
  for (; j + V::kCount <= k; j += V::kCount)
    V::store(to + j, V::load(matrix + j) * (V::load(r + j) * scale));
  for (; j < k; ++j) to[j] = matrix[j] * (r[j] * scale);
}

template <class T>
constexpr SinkhornKernels<T> kSinkhornLoops = {Lanes<T>::kCount, extremes<T>,       largest<T>,
                                               exponentials<T>,  add_logarithms<T>, points<T>,
                                               sums<T>,          samples<T>,        targets<T>};

}  // namespace
}  // namespace v1
}  // namespace gh
