// The loops of winograd_kernels.hpp, written once for vectors of either size and included by the
// sources that compile them. Nothing of the standard library in here: an inline function compiled
// for these instructions could be the one that the linker keeps.
#pragma once

#include "winograd_kernels.hpp"

#include <immintrin.h>

namespace gh {
inline namespace v1 {
namespace {

#define GH_INLINE inline __attribute__((always_inline))

// ---- vectors ----

GH_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
GH_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

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

#if defined(__AVX512F__)
using Vector = __m512;
GH_INLINE Vector load(const float* p) { return _mm512_loadu_ps(p); }
GH_INLINE void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
GH_INLINE Vector all(float x) { return _mm512_set1_ps(x); }
GH_INLINE Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
GH_INLINE Vector fnma(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }
GH_INLINE __mmask16 lanes_of(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
GH_INLINE Vector load_part(const float* p, int64_t n) {
  return _mm512_maskz_loadu_ps(lanes_of(n), p);
}
GH_INLINE void store_part(float* p, Vector v, int64_t n) {
  _mm512_mask_storeu_ps(p, lanes_of(n), v);
}
constexpr int kRows = 14;  // of a product held in registers
#else
using Vector = __m256;
GH_INLINE Vector load(const float* p) { return _mm256_loadu_ps(p); }
GH_INLINE void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
GH_INLINE Vector all(float x) { return _mm256_set1_ps(x); }
GH_INLINE Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
GH_INLINE Vector fnma(Vector a, Vector b, Vector c) { return _mm256_fnmadd_ps(a, b, c); }
GH_INLINE Vector load_part(const float* p, int64_t n) { return load_eight(p, n); }
GH_INLINE void store_part(float* p, Vector v, int64_t n) { store_eight(p, v, n); }
constexpr int kRows = 6;
#endif
constexpr int kLanes = sizeof(Vector) / sizeof(float);
constexpr int kParts = kPanel / kLanes;  // vectors of a panel

// Lanes of part `part` that lie within the first `channels` of a panel.
GH_INLINE int64_t lanes_in(int64_t channels, int part) {
  return most(0, least(kLanes, channels - part * kLanes));
}

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

// ---- transforms along one dimension ----

// F(m, 3) turns m + 2 values d and three weights w into y = Aᵀ[(Gw) ⊙ (Bᵀd)] (Lavin and Gray,
// 2016). The gradient of the weights is Gᵀ[(A·dy) ⊙ (Bᵀd)].
template <int kTile>
struct Transform;

// Points 0, ±a, ±b, ∞. All numbers in A and B are exact in float32; a and b are chosen for the
// smallest error, which is a quarter of that of the usual ±1, ±2.
template <>
struct Transform<4> {
  static constexpr int kPoints = 6;
  static constexpr double a = 0.6875, b = 1.5, a2 = a * a, b2 = b * b;
  static constexpr double n0 = 1 / (a2 * b2), na = 1 / (2 * a2 * (a2 - b2)),
                          nb = 1 / (2 * b2 * (b2 - a2));

  static GH_INLINE void data(const Vector* d, Vector* t) {
    const Vector p = fnma(all(b2), d[2], d[4]), q = fnma(all(b2), d[1], d[3]);
    const Vector r = fnma(all(a2), d[2], d[4]), s = fnma(all(a2), d[1], d[3]);
    t[0] = fma(all(a2 * b2), d[0], fnma(all(a2 + b2), d[2], d[4]));
    t[1] = fma(all(a), q, p);
    t[2] = fnma(all(a), q, p);
    t[3] = fma(all(b), s, r);
    t[4] = fnma(all(b), s, r);
    t[5] = fma(all(a2 * b2), d[1], fnma(all(a2 + b2), d[3], d[5]));
  }
  static GH_INLINE void output(const Vector* m, Vector* y) {
    const Vector s = m[1] + m[2], d = m[1] - m[2], s2 = m[3] + m[4], d2 = m[3] - m[4];
    y[0] = m[0] + s + s2;
    y[1] = fma(all(b), d2, all(a) * d);
    y[2] = fma(all(b2), s2, all(a2) * s);
    y[3] = fma(all(b2 * b), d2, fma(all(a2 * a), d, m[5]));
  }
  static GH_INLINE void gradient(const Vector* y, Vector* z) {
    const Vector e = fma(all(a2), y[2], y[0]), o = fma(all(a2), y[3], y[1]);
    const Vector e2 = fma(all(b2), y[2], y[0]), o2 = fma(all(b2), y[3], y[1]);
    z[0] = y[0];
    z[1] = fma(all(a), o, e);
    z[2] = fnma(all(a), o, e);
    z[3] = fma(all(b), o2, e2);
    z[4] = fnma(all(b), o2, e2);
    z[5] = y[3];
  }
  static GH_INLINE void weights(const Vector* w, Vector* u) {
    const Vector s = fma(all(a2 * na), w[2], all(na) * w[0]), d = w[1] * all(a * na);
    const Vector s2 = fma(all(b2 * nb), w[2], all(nb) * w[0]), d2 = w[1] * all(b * nb);
    u[0] = w[0] * all(n0);
    u[1] = s + d;
    u[2] = s - d;
    u[3] = s2 + d2;
    u[4] = s2 - d2;
    u[5] = w[2];
  }
  static GH_INLINE void weight_gradient(const Vector* u, Vector* w) {
    const Vector s = u[1] + u[2], d = u[1] - u[2], s2 = u[3] + u[4], d2 = u[3] - u[4];
    w[0] = fma(all(n0), u[0], fma(all(nb), s2, s * all(na)));
    w[1] = fma(all(b * nb), d2, d * all(a * na));
    w[2] = fma(all(a2 * na), s, fma(all(b2 * nb), s2, u[5]));
  }
};

// Points 0, ±1, ∞: sums, differences and halves.
template <>
struct Transform<2> {
  static constexpr int kPoints = 4;

  static GH_INLINE void data(const Vector* d, Vector* t) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
  }
  static GH_INLINE void output(const Vector* m, Vector* y) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }
  static GH_INLINE void gradient(const Vector* y, Vector* z) {
    z[0] = y[0];
    z[1] = y[0] + y[1];
    z[2] = y[0] - y[1];
    z[3] = y[1];
  }
  static GH_INLINE void weights(const Vector* w, Vector* u) {
    const Vector s = (w[0] + w[2]) * all(0.5f), d = w[1] * all(0.5f);
    u[0] = w[0];
    u[1] = s + d;
    u[2] = s - d;
    u[3] = w[2];
  }
  static GH_INLINE void weight_gradient(const Vector* u, Vector* w) {
    const Vector s = (u[1] + u[2]) * all(0.5f);
    w[0] = u[0] + s;
    w[1] = (u[1] - u[2]) * all(0.5f);
    w[2] = s + u[3];
  }
};

// Data: tiles overlap. Gradients: they do not.
template <int kTile>
struct DataSide {
  static constexpr int kIn = kTile + 2;
  static GH_INLINE void apply(const Vector* d, Vector* t) { Transform<kTile>::data(d, t); }
};
template <int kTile>
struct GradientSide {
  static constexpr int kIn = kTile;
  static GH_INLINE void apply(const Vector* d, Vector* t) { Transform<kTile>::gradient(d, t); }
};

// ---- planes ↔ pixels ----

// [channels][count] at a distance of `plane` → [count][16].
void gather(const float* from, int64_t plane, int64_t channels, int64_t count, float* to) {
  for (int64_t half = 0; half < kPanel; half += 8)
    for (int64_t i = 0; i < count; i += 8) {
      __m256 t[8];
      for (int64_t c = 0; c < 8; ++c)
        t[c] = half + c < channels ? load_eight(from + (half + c) * plane + i, count - i)
                                   : _mm256_setzero_ps();
      transpose(t);
      for (int64_t j = 0; j < least(8, count - i); ++j)
        _mm256_storeu_ps(to + (i + j) * kPanel + half, t[j]);
    }
}

// [count][16] → [channels][count] at a distance of `plane`.
void scatter(const float* from, int64_t count, float* to, int64_t plane, int64_t channels) {
  for (int64_t half = 0; half < channels; half += 8)
    for (int64_t i = 0; i < count; i += 8) {
      __m256 t[8];
      for (int64_t j = 0; j < 8; ++j)
        t[j] =
            i + j < count ? _mm256_loadu_ps(from + (i + j) * kPanel + half) : _mm256_setzero_ps();
      transpose(t);
      for (int64_t c = 0; c < least(8, channels - half); ++c)
        store_eight(to + (half + c) * plane + i, t[c], count - i);
    }
}

// ---- strips ----

// Columns of a strip with those that only fill up tiles.
template <int kTile>
constexpr int64_t columns_of(int64_t tiles) {
  return tiles * kTile + 2;
}

// Rows of tiles transformed along columns, and rows gathered from planes.
template <int kTile>
int64_t room_for(int64_t tiles) {
  return 2 * Transform<kTile>::kPoints * columns_of<kTile>(tiles) * kPanel;
}

// Part `part` of a panel, from rows of pixels at a distance of step[i] each.
template <class Side, int kTile, bool kWhole>
GH_INLINE void transform_strip(const float* const* row, const int64_t* step, const Strip& strip,
                               int64_t lanes, float* to, int64_t frequency, float* room) {
  constexpr int kPoints = Transform<kTile>::kPoints;
  const int64_t columns = strip.tiles * kTile + (Side::kIn - kTile);
  const int64_t begin = least(strip.padding, columns);
  const int64_t end = least(strip.padding + strip.width, columns);
  for (int64_t j = begin; j < end; ++j) {
    Vector d[Side::kIn], t[kPoints];
#pragma GCC unroll 6
    for (int i = 0; i < Side::kIn; ++i) {
      const float* const p = row[i] + (j - strip.padding) * step[i];
      d[i] = kWhole ? load(p) : load_part(p, lanes);
    }
    Side::apply(d, t);
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i) store(room + (i * columns + j) * kLanes, t[i]);
  }
  for (int i = 0; i < kPoints; ++i) {
    for (int64_t j = 0; j < begin; ++j) store(room + (i * columns + j) * kLanes, all(0));
    for (int64_t j = end; j < columns; ++j) store(room + (i * columns + j) * kLanes, all(0));
  }
  for (int64_t tile = 0; tile < strip.tiles; ++tile)
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i) {
      Vector d[Side::kIn], t[kPoints];
#pragma GCC unroll 6
      for (int j = 0; j < Side::kIn; ++j)
        d[j] = load(room + (i * columns + tile * kTile + j) * kLanes);
      Side::apply(d, t);
#pragma GCC unroll 6
      for (int j = 0; j < kPoints; ++j)
        store(to + (i * kPoints + j) * frequency + tile * kPanel, t[j]);
    }
}

template <class Side, int kTile>
void strip_in(const Strip& strip, const Frequencies& to, float* room) {
  alignas(64) static constexpr float kZeros[kPanel] = {};
  const float* row[Side::kIn];
  int64_t step[Side::kIn];
  const int64_t first = most(0, strip.first_row);
  const int64_t last = least(strip.height, strip.first_row + Side::kIn);
  const bool planes = strip.planes;
  float* const pixels = room + room_for<kTile>(strip.tiles) / 2;
  if (planes && first < last)
    gather(strip.data + first * strip.width, strip.channel, strip.channels,
           (last - first) * strip.width, pixels);
  for (int i = 0; i < Side::kIn; ++i) {
    const int64_t r = strip.first_row + i;
    const bool inside = r >= first && r < last;
    step[i] = !inside ? 0 : planes ? kPanel : strip.pixel;
    row[i] = !inside  ? kZeros
             : planes ? pixels + (r - first) * strip.width * kPanel
                      : strip.data + r * strip.width * strip.pixel;
  }
  for (int part = 0; part < kParts; ++part) {
    const int64_t lanes = planes ? kLanes : lanes_in(strip.channels, part);
    float* const out = to.data + part * kLanes;
    if (lanes == kLanes)
      transform_strip<Side, kTile, true>(row, step, strip, lanes, out, to.frequency, room);
    else
      transform_strip<Side, kTile, false>(row, step, strip, lanes, out, to.frequency, room);
    for (int i = 0; i < Side::kIn; ++i) row[i] += step[i] == 0 ? 0 : kLanes;
  }
}

// One tile: products of all frequencies → outputs, of which `rows`×`columns` are kept.
template <int kTile, bool kWhole>
GH_INLINE void tile_out(const float* from, int64_t frequency, float* to, int64_t row, int64_t pixel,
                        int64_t rows, int64_t columns, int64_t lanes) {
  constexpr int kPoints = Transform<kTile>::kPoints;
  Vector q[kTile][kPoints];
#pragma GCC unroll 6
  for (int j = 0; j < kPoints; ++j) {
    Vector m[kPoints], y[kTile];
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i) m[i] = load(from + (i * kPoints + j) * frequency);
    Transform<kTile>::output(m, y);
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) q[i][j] = y[i];
  }
#pragma GCC unroll 4
  for (int i = 0; i < kTile; ++i) {
    Vector y[kTile];
    Transform<kTile>::output(q[i], y);
    if (kWhole) {
#pragma GCC unroll 4
      for (int j = 0; j < kTile; ++j) store(to + i * row + j * pixel, y[j]);
    } else if (i < rows) {
#pragma GCC unroll 4
      for (int j = 0; j < kTile; ++j)
        if (j < columns) store_part(to + i * row + j * pixel, y[j], lanes);
    }
  }
}

template <int kTile>
void strip_out(const Frequencies& from, const Strip& strip, float* room) {
  const bool planes = strip.planes;
  const int64_t rows = least(kTile, strip.height - strip.first_row);
  const int64_t pixel = planes ? kPanel : strip.pixel, row = strip.width * pixel;
  float* const first = strip.data + strip.first_row * strip.width * strip.pixel;
  float* const to = planes ? room : first;
  for (int part = 0; part < kParts; ++part) {
    const int64_t lanes = planes ? kLanes : lanes_in(strip.channels, part);
    if (lanes == 0) break;
    for (int64_t tile = 0; tile < strip.tiles; ++tile) {
      const int64_t columns = least(kTile, strip.width - tile * kTile);
      const float* const f = from.data + tile * kPanel + part * kLanes;
      float* const t = to + tile * kTile * pixel + part * kLanes;
      if (rows == kTile && columns == kTile && lanes == kLanes)
        tile_out<kTile, true>(f, from.frequency, t, row, pixel, rows, columns, lanes);
      else
        tile_out<kTile, false>(f, from.frequency, t, row, pixel, rows, columns, lanes);
    }
  }
  if (planes) scatter(room, rows * strip.width, first, strip.channel, strip.channels);
}

// ---- weights ----

template <int kTile>
void transform_weights(const WeightPanel& p) {
  constexpr int kPoints = Transform<kTile>::kPoints;
  const int64_t inputs = p.turned ? p.out : p.in;
  const int64_t first = p.panel * kPanel;
  const int64_t padded = (inputs + kPanel - 1) / kPanel * kPanel;
  for (int64_t c = 0; c < padded; c += 8) {
    alignas(64) float w[9][8][kPanel];  // [tap][input][output]
    for (int tap = 0; tap < 9; ++tap) {
      for (int64_t half = 0; half < kPanel; half += 8) {
        __m256 t[8];
        for (int64_t i = 0; i < 8; ++i) {
          const int64_t out = p.turned ? c + i : first + half + i;
          const int64_t in = p.turned ? first + half : c;
          t[i] = out < p.out && in < p.in
                     ? load_eight(p.weights + (out * 9 + tap) * p.in + in, p.in - in)
                     : _mm256_setzero_ps();
        }
        if (!p.turned) transpose(t);
        const int to = p.turned ? 8 - tap : tap;
        for (int64_t i = 0; i < 8; ++i) _mm256_store_ps(&w[to][i][half], t[i]);
      }
    }
    for (int64_t i = 0; i < 8; ++i)
      for (int part = 0; part < kParts; ++part) {
        Vector q[kPoints][3];
#pragma GCC unroll 3
        for (int x = 0; x < 3; ++x) {
          Vector d[3], u[kPoints];
#pragma GCC unroll 3
          for (int y = 0; y < 3; ++y) d[y] = load(&w[3 * y + x][i][part * kLanes]);
          Transform<kTile>::weights(d, u);
#pragma GCC unroll 6
          for (int y = 0; y < kPoints; ++y) q[y][x] = u[y];
        }
        float* const to = p.transformed + (c + i) * kPanel + part * kLanes;
#pragma GCC unroll 6
        for (int y = 0; y < kPoints; ++y) {
          Vector u[kPoints];
          Transform<kTile>::weights(q[y], u);
#pragma GCC unroll 6
          for (int x = 0; x < kPoints; ++x) store(to + (y * kPoints + x) * p.frequency, u[x]);
        }
      }
  }
}

template <int kTile>
void weight_gradient_block(const GradientBlock& b) {
  constexpr int kPoints = Transform<kTile>::kPoints;
  for (int64_t out = 0; out < b.outputs; ++out)
    for (int part = 0; part < kParts; ++part) {
      const int64_t lanes = lanes_in(b.inputs, part);
      if (lanes == 0) break;
      const float* const from = b.sums + out * kPanel + part * kLanes;
      Vector q[3][kPoints];
#pragma GCC unroll 6
      for (int x = 0; x < kPoints; ++x) {
        Vector u[kPoints], w[3];
#pragma GCC unroll 6
        for (int y = 0; y < kPoints; ++y) u[y] = load(from + (y * kPoints + x) * b.frequency);
        Transform<kTile>::weight_gradient(u, w);
#pragma GCC unroll 3
        for (int y = 0; y < 3; ++y) q[y][x] = w[y];
      }
      float* const to = b.gradient + out * 9 * b.in + part * kLanes;
      for (int y = 0; y < 3; ++y) {
        Vector w[3];
        Transform<kTile>::weight_gradient(q[y], w);
        for (int x = 0; x < 3; ++x) store_part(to + (3 * y + x) * b.in, w[x], lanes);
      }
    }
}

// ---- products ----

// Accumulators start at zero in an unrolled loop and what was there is added at the end: started
// from a branch, GCC 12 keeps them in memory.
template <int kCount>
__attribute__((noinline)) void product_rows(const float* a, int64_t panel, const float* b, float* c,
                                            int64_t panels, bool add) {
  Vector sum[kCount][kParts];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) sum[i][part] = all(0);
  for (int64_t p = 0; p < panels; ++p, a += panel, b += kPanel * kPanel) {
#pragma GCC unroll 4
    for (int k = 0; k < kPanel; ++k) {
      Vector w[kParts];
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part) w[part] = load(b + k * kPanel + part * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) {
        const Vector x = all(a[i * kPanel + k]);
#pragma GCC unroll 2
        for (int part = 0; part < kParts; ++part) sum[i][part] = fma(x, w[part], sum[i][part]);
      }
    }
  }
  if (add) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part)
        sum[i][part] = sum[i][part] + load(c + i * kPanel + part * kLanes);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) store(c + i * kPanel + part * kLanes, sum[i][part]);
}

using ProductRows = void (*)(const float*, int64_t, const float*, float*, int64_t, bool);
constexpr ProductRows kProductRows[] = {
    nullptr,          product_rows<1>,  product_rows<2>,  product_rows<3>,
    product_rows<4>,  product_rows<5>,  product_rows<6>,
#if defined(__AVX512F__)
    product_rows<7>,  product_rows<8>,  product_rows<9>,  product_rows<10>,
    product_rows<11>, product_rows<12>, product_rows<13>, product_rows<14>,
#endif
};

// The weights of so many panels of inputs, 16 KB, stay in the first cache.
constexpr int64_t kDepth = 16;

void product(const Product& p) {
  const int64_t cuts = (p.tiles + kRows - 1) / kRows, rows = p.tiles / cuts, more = p.tiles % cuts;
  for (int64_t first = 0; first < p.panels; first += kDepth) {
    const int64_t panels = least(kDepth, p.panels - first);
    const float* a = p.data + first * p.panel;
    float* c = p.products;
    for (int64_t i = 0; i < cuts; ++i) {
      const int64_t count = rows + (i < more ? 1 : 0);
      kProductRows[count](a, p.panel, p.weights + first * kPanel * kPanel, c, panels, first > 0);
      a += count * kPanel;
      c += count * kPanel;
    }
  }
}

template <int kCount>
__attribute__((noinline)) void outer_rows(const float* z, const float* v, float* d, int64_t tiles,
                                          bool add) {
  Vector sum[kCount][kParts];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) sum[i][part] = all(0);
  for (int64_t t = 0; t < tiles; ++t, v += kPanel, z += kPanel) {
    Vector x[kParts];
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) x[part] = load(v + part * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const Vector g = all(z[i]);
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part) sum[i][part] = fma(g, x[part], sum[i][part]);
    }
  }
  if (add) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part)
        sum[i][part] = sum[i][part] + load(d + i * kPanel + part * kLanes);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) store(d + i * kPanel + part * kLanes, sum[i][part]);
}

void outer_product(const OuterProduct& p) {
#if defined(__AVX512F__)
  outer_rows<16>(p.gradients, p.data, p.sums, p.tiles, p.add);
#else
  outer_rows<6>(p.gradients, p.data, p.sums, p.tiles, p.add);
  outer_rows<5>(p.gradients + 6, p.data, p.sums + 6 * kPanel, p.tiles, p.add);
  outer_rows<5>(p.gradients + 11, p.data, p.sums + 11 * kPanel, p.tiles, p.add);
#endif
}

template <int kTile>
constexpr WinogradKernels kWinogradLoops = {
    .tile = kTile,
    .points = Transform<kTile>::kPoints,
    .rows = kRows,
    .room = room_for<kTile>,
    .data_strip = strip_in<DataSide<kTile>, kTile>,
    .gradient_strip = strip_in<GradientSide<kTile>, kTile>,
    .output_strip = strip_out<kTile>,
    .weight_panel = transform_weights<kTile>,
    .product = product,
    .outer_product = outer_product,
    .gradient_block = weight_gradient_block<kTile>,
};

#undef GH_INLINE

}  // namespace
}  // namespace v1
}  // namespace gh
