// Lanes as K-means uses them, and products of pairs of rows, for the loops of kmeans_kernels.hpp.
#pragma once

#include "kmeans_kernels.hpp"
#include "vectors.hpp"

namespace gh {
inline namespace v1 {
namespace {

#define GH_APART __attribute__((noinline))  // registers of its own; profiles name it

#if defined(__AVX512F__)
constexpr int kPanel = 4;  // 24 of 32 registers hold sums, 4 centres
#else
constexpr int kPanel = 3;  // 12 of 16, 3
#endif

// ---- lanes ----

// Lane i of the result is lane i ^ kDistance.
template <int kDistance, class Vector, class Ids>
GH_INLINE Vector swapped(Vector v, Ids) {
  constexpr int k = kDistance, n = sizeof(Vector) / sizeof(v[0]);
  if constexpr (n == 2)
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k});
  else if constexpr (n == 4)
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k, 2 ^ k, 3 ^ k});
  else if constexpr (n == 8)
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k, 2 ^ k, 3 ^ k, 4 ^ k, 5 ^ k, 6 ^ k, 7 ^ k});
  else
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k, 2 ^ k, 3 ^ k, 4 ^ k, 5 ^ k, 6 ^ k, 7 ^ k, 8 ^ k,
                                    9 ^ k, 10 ^ k, 11 ^ k, 12 ^ k, 13 ^ k, 14 ^ k, 15 ^ k});
}

// The largest lane, in all lanes.
template <class T, int kDistance = Lanes<T>::kCount / 2>
GH_INLINE typename Lanes<T>::Vector largest(typename Lanes<T>::Vector v) {
  v = larger(v, swapped<kDistance>(v, typename Lanes<T>::Integers{}));
  if constexpr (kDistance > 1)
    return largest<T, kDistance / 2>(v);
  else
    return v;
}
template <class T, int kDistance = Lanes<T>::kCount / 2>
GH_INLINE KMeansId<T> smallest(typename Lanes<T>::Integers v) {
  const typename Lanes<T>::Integers other = swapped<kDistance>(v, v);
  v = v < other ? v : other;
  if constexpr (kDistance > 1)
    return smallest<T, kDistance / 2>(v);
  else
    return v[0];
}

template <class T>
constexpr T kInfinity = static_cast<T>(__builtin_huge_val());
template <class T>
constexpr T kUnitRoundoff = sizeof(T) == 4 ? T(0x1p-24) : T(0x1p-53);

// Roots of lanes, and a bit for each lane of a comparison.
#if defined(__AVX512F__)
GH_INLINE Lanes<float>::Vector root(Lanes<float>::Vector v) { return _mm512_maskz_sqrt_ps(-1, v); }
GH_INLINE Lanes<double>::Vector root(Lanes<double>::Vector v) {
  return _mm512_maskz_sqrt_pd(-1, v);
}
GH_INLINE uint64_t bits(Lanes<float>::Integers v) {
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(v), reinterpret_cast<__m512i>(v));
}
GH_INLINE uint64_t bits(Lanes<double>::Integers v) {
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(v), reinterpret_cast<__m512i>(v));
}
#elif defined(__AVX2__)
GH_INLINE Lanes<float>::Vector root(Lanes<float>::Vector v) { return _mm256_sqrt_ps(v); }
GH_INLINE Lanes<double>::Vector root(Lanes<double>::Vector v) { return _mm256_sqrt_pd(v); }
GH_INLINE uint64_t bits(Lanes<float>::Integers v) {
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(v)));
}
GH_INLINE uint64_t bits(Lanes<double>::Integers v) {
  return static_cast<uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(v)));
}
#else
template <class Vector>
GH_INLINE Vector root(Vector v) {
  for (unsigned i = 0; i < sizeof(v) / sizeof(v[0]); ++i) v[i] = root(v[i]);
  return v;
}
template <class Ids>
GH_INLINE uint64_t bits(Ids v) {
  uint64_t out = 0;
  for (unsigned i = 0; i < sizeof(v) / sizeof(v[0]); ++i) out |= (v[i] & uint64_t{1}) << i;
  return out;
}
#endif

// ---- products of pairs of rows ----

constexpr int kPairs = 8;

// Lanes without kDistance have the sums of a's lanes at that distance, lanes with it those of b's.
template <class T, int kDistance>
GH_INLINE typename Lanes<T>::Vector fold(typename Lanes<T>::Vector a, typename Lanes<T>::Vector b) {
  using L = Lanes<T>;
  typename L::Integers lane;
#pragma GCC unroll 16
  for (int i = 0; i < L::kCount; ++i) lane[i] = i;
  const typename L::Integers upper = (lane & kDistance) != 0;
  return (upper ? b : a) + swapped<kDistance>(upper ? a : b, lane);
}

// Sums over the lanes of kCount vectors, in the first lanes of kCount equal parts of the result.
template <class T, int kCount, int kDistance = Lanes<T>::kCount / 2>
GH_INLINE typename Lanes<T>::Vector folded(typename Lanes<T>::Vector* v) {
  constexpr int kLeft = kCount > 1 ? kCount / 2 : 1;
#pragma GCC unroll 8
  for (int i = 0; i < kLeft; ++i)
    v[i] = kCount > 1 ? fold<T, kDistance>(v[i], v[i + kLeft])
                      : v[i] + swapped<kDistance>(v[i], typename Lanes<T>::Integers{});
  if constexpr (kDistance > 1)
    return folded<T, kLeft, kDistance / 2>(v);
  else
    return v[0];
}

enum class Left { one, many };  // a[0] with all, or a row for each

// Scores of kPairs rows and centres, and where they are in vectors. Sums in another order than
// look_at()'s.
template <class T>
struct Pairs {
  using L = Lanes<T>;
  static constexpr int kAtOnce = kPairs < L::kCount ? kPairs : L::kCount;
  typename L::Vector part[kPairs / kAtOnce];

  template <Left kLeft>
  GH_INLINE void look(const T* const* a, const T* const* b, const T* bias, int64_t width) {
    typename L::Vector sums[kPairs];
    const int64_t whole = width - width % L::kCount;
#pragma GCC unroll 8
    for (int j = 0; j < kPairs; ++j) {
      T first = bias[j];
      for (int64_t d = whole; d < width; ++d) first += a[kLeft == Left::one ? 0 : j][d] * b[j][d];
      sums[j] = typename L::Vector{first};
    }
    for (int64_t d = 0; d < whole; d += L::kCount) {
      const typename L::Vector x = L::load(a[0] + d);
#pragma GCC unroll 8
      for (int j = 0; j < kPairs; ++j)
        sums[j] += (kLeft == Left::one ? x : L::load(a[j] + d)) * L::load(b[j] + d);
    }
#pragma GCC unroll 4
    for (int j = 0; j < kPairs; j += kAtOnce) part[j / kAtOnce] = folded<T, kAtOnce>(sums + j);
  }

  GH_INLINE void store(T* out) const {
#pragma GCC unroll 8
    for (int j = 0; j < kPairs; ++j)
      out[j] = part[j / kAtOnce][j % kAtOnce * (L::kCount / kAtOnce)];
  }
};

}  // namespace
}  // namespace v1
}  // namespace gh
