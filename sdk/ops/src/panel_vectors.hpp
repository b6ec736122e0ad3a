// Vectors of float for the kernels of convolutions, which exist for AVX2 and AVX-512 only: parts of
// vectors, exact fused products, and packing by panels of 16 channels.
#pragma once

#include "vectors.hpp"

namespace gh {
inline namespace v1 {
namespace {

GH_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
GH_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Brings a line that will be read soon; any address will do.
GH_INLINE void fetch(const float* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
}

// The first n of eight lanes, for n of 0 … 8.
GH_INLINE __m256i first_lanes(int64_t n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
}
GH_INLINE __m256 load_eight(const float* p, int64_t n) {
  return n >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, first_lanes(n));
}
GH_INLINE void store_eight(float* p, __m256 v, int64_t n) {
  if (n >= 8) return _mm256_storeu_ps(p, v);
  _mm256_maskstore_ps(p, first_lanes(n), v);
}

using Vector = Lanes<float>::Vector;
constexpr int kLanes = Lanes<float>::kCount;
GH_INLINE Vector load(const float* p) { return Lanes<float>::load(p); }
GH_INLINE void store(float* p, Vector v) { Lanes<float>::store(p, v); }
GH_INLINE Vector all(float x) { return Lanes<float>::all(x); }

#if defined(__AVX512F__)
GH_INLINE Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
GH_INLINE Vector fnma(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }
GH_INLINE __mmask16 lanes_of(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
GH_INLINE Vector load_part(const float* p, int64_t n) {
  return _mm512_maskz_loadu_ps(lanes_of(n), p);
}
GH_INLINE void store_part(float* p, Vector v, int64_t n) {
  _mm512_mask_storeu_ps(p, lanes_of(n), v);
}
#else
GH_INLINE Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
GH_INLINE Vector fnma(Vector a, Vector b, Vector c) { return _mm256_fnmadd_ps(a, b, c); }
GH_INLINE Vector load_part(const float* p, int64_t n) { return load_eight(p, n); }
GH_INLINE void store_part(float* p, Vector v, int64_t n) { store_eight(p, v, n); }
#endif

// Eight vectors as an 8×8 matrix, transposed.
GH_INLINE void transpose(__m256* r) {
  const __m256 t0 = _mm256_unpacklo_ps(r[0], r[1]), t1 = _mm256_unpackhi_ps(r[0], r[1]);
  const __m256 t2 = _mm256_unpacklo_ps(r[2], r[3]), t3 = _mm256_unpackhi_ps(r[2], r[3]);
  const __m256 t4 = _mm256_unpacklo_ps(r[4], r[5]), t5 = _mm256_unpackhi_ps(r[4], r[5]);
  const __m256 t6 = _mm256_unpacklo_ps(r[6], r[7]), t7 = _mm256_unpackhi_ps(r[6], r[7]);
  const __m256 s0 = _mm256_shuffle_ps(t0, t2, 0x44), s1 = _mm256_shuffle_ps(t0, t2, 0xEE);
  const __m256 s2 = _mm256_shuffle_ps(t1, t3, 0x44), s3 = _mm256_shuffle_ps(t1, t3, 0xEE);
  const __m256 s4 = _mm256_shuffle_ps(t4, t6, 0x44), s5 = _mm256_shuffle_ps(t4, t6, 0xEE);
  const __m256 s6 = _mm256_shuffle_ps(t5, t7, 0x44), s7 = _mm256_shuffle_ps(t5, t7, 0xEE);
  r[0] = _mm256_permute2f128_ps(s0, s4, 0x20);
  r[1] = _mm256_permute2f128_ps(s1, s5, 0x20);
  r[2] = _mm256_permute2f128_ps(s2, s6, 0x20);
  r[3] = _mm256_permute2f128_ps(s3, s7, 0x20);
  r[4] = _mm256_permute2f128_ps(s0, s4, 0x31);
  r[5] = _mm256_permute2f128_ps(s1, s5, 0x31);
  r[6] = _mm256_permute2f128_ps(s2, s6, 0x31);
  r[7] = _mm256_permute2f128_ps(s3, s7, 0x31);
}

// [rows][columns] at a distance of `step` → [columns][wide]; zeros where there are no more rows.
GH_INLINE void turn(const float* from, int64_t step, int64_t rows, int64_t columns, float* to,
                    int64_t wide) {
  for (int64_t half = 0; half < wide; half += 8)
    for (int64_t c = 0; c < columns; c += 8) {
      __m256 t[8];
      for (int64_t i = 0; i < 8; ++i)
        t[i] = half + i < rows ? load_eight(from + (half + i) * step + c, columns - c)
                               : _mm256_setzero_ps();
      transpose(t);
      for (int64_t i = 0; i < least(8, columns - c); ++i)
        _mm256_storeu_ps(to + (c + i) * wide + half, t[i]);
    }
}

// kRows rows of kVectors vectors of sums, held in registers. They start at zero in an unrolled
// loop, and who has sums in memory adds those at the end: started from a branch, GCC 12 keeps them
// in memory.
template <int kRows, int kVectors>
struct HeldSums {
  Vector sum[kRows][kVectors];

  GH_INLINE HeldSums() {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = all(0);
  }
  // Adds left(i) · right[j] to sum[i][j].
  template <class Left>
  GH_INLINE void multiply(const Left& left, const Vector (&right)[kVectors]) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector x = all(left(i));
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = fma(x, right[j], sum[i][j]);
    }
  }
};

}  // namespace
}  // namespace v1
}  // namespace gh
