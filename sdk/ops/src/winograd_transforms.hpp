// Winograd's transforms along one dimension.
#pragma once

#include "panel_vectors.hpp"
#include "winograd_kernels.hpp"

namespace gh {
inline namespace v1 {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;  // of a product held in registers
#else
constexpr int kRows = 6;
#endif
constexpr int kParts = kPanel / kLanes;  // vectors of a panel

// Lanes of part `part` that lie within the first `channels` of a panel.
GH_INLINE int64_t lanes_in(int64_t channels, int part) {
  return most(0, least(kLanes, channels - part * kLanes));
}

// ---- transforms along one dimension ----

// F(m, 3) turns m + 2 values d and three weights w into y = Aᵀ[(Gw) ⊙ (Bᵀd)] (Lavin and Gray,
// 2016). The gradient of the weights is Gᵀ[(A·dy) ⊙ (Bᵀd)].

// even ± x·odd
GH_INLINE void both_signs(float x, Vector odd, Vector even, Vector* to) {
  to[0] = fma(all(x), odd, even);
  to[1] = fnma(all(x), odd, even);
}

// Points 0, ±a, ±b, ∞. All numbers in A and B are exact in float32; a and b are chosen for the
// smallest error, which is a quarter of that of the usual ±1, ±2.
struct Tile4 {
  static constexpr int kTile = 4, kPoints = 6;
  static constexpr double a = 0.6875, b = 1.5, a2 = a * a, b2 = b * b;
  static constexpr double n0 = 1 / (a2 * b2), na = 1 / (2 * a2 * (a2 - b2)),
                          nb = 1 / (2 * b2 * (b2 - a2));

  static GH_INLINE void data(const Vector* d, Vector* t) {
    const Vector p = fnma(all(b2), d[2], d[4]), q = fnma(all(b2), d[1], d[3]);
    const Vector r = fnma(all(a2), d[2], d[4]), s = fnma(all(a2), d[1], d[3]);
    t[0] = fma(all(a2 * b2), d[0], fnma(all(a2 + b2), d[2], d[4]));
    both_signs(a, q, p, t + 1);
    both_signs(b, s, r, t + 3);
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
    both_signs(a, o, e, z + 1);
    both_signs(b, o2, e2, z + 3);
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
struct Tile2 {
  static constexpr int kTile = 2, kPoints = 4;

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

// Stride 2: y[i] = w0·o[i−1] + w1·e[i] + w2·o[i] with the odd values o and the even values e of a
// row. The former is F(4, 2), with points ±a, ±b, ∞ chosen for the smallest error; the latter is
// the same with weights (w1, 0), which vanish at ∞. Products of both are summed before the
// transform back: 81 multiplications for 16 outputs instead of 144.
struct Stride2 {
  static constexpr int kTile = 4, kPoints = 5;
  static constexpr double a = 0.375, b = 1.5, a2 = a * a, b2 = b * b;
  static constexpr double na = 1 / (2 * a * (a2 - b2)), nb = 1 / (2 * b * (b2 - a2));

  // Phases of a frequency are numbered without gaps; (row, column) of values that are both odd come
  // first.
  static constexpr int slot(int row, bool even_row, bool even_column) {
    if (even_row) return even_column ? 3 : 1;
    return !even_column ? 0 : row < kPoints - 1 ? 2 : 1;
  }
  static int64_t phases_at(int64_t frequency) {
    return (frequency / kPoints < kPoints - 1 ? 2 : 1) *
           (frequency % kPoints < kPoints - 1 ? 2 : 1);
  }
  static constexpr int count(bool even) { return even ? kPoints - 1 : kPoints; }

  static GH_INLINE void even_data(const Vector* d, Vector* t) {
    const Vector p = fnma(all(b2), d[1], d[3]), q = fnma(all(b2), d[0], d[2]);
    const Vector r = fnma(all(a2), d[1], d[3]), s = fnma(all(a2), d[0], d[2]);
    both_signs(a, q, p, t);
    both_signs(b, s, r, t + 2);
  }
  static GH_INLINE void data(const Vector* d, Vector* t) {
    even_data(d, t);
    t[4] = fma(all(a2 * b2), d[0], fnma(all(a2 + b2), d[2], d[4]));
  }
  static GH_INLINE void even_output(const Vector* m, Vector* y) {
    const Vector s = m[0] + m[1], d = m[0] - m[1], s2 = m[2] + m[3], d2 = m[2] - m[3];
    y[0] = s + s2;
    y[1] = fma(all(b), d2, all(a) * d);
    y[2] = fma(all(b2), s2, all(a2) * s);
    y[3] = fma(all(b2 * b), d2, all(a2 * a) * d);
  }
  static GH_INLINE void output(const Vector* m, Vector* y) {
    even_output(m, y);
    y[3] = y[3] + m[4];
  }
  static GH_INLINE void gradient(const Vector* y, Vector* z) {
    const Vector e = fma(all(a2), y[2], y[0]), o = fma(all(a2), y[3], y[1]);
    const Vector e2 = fma(all(b2), y[2], y[0]), o2 = fma(all(b2), y[3], y[1]);
    both_signs(a, o, e, z);
    both_signs(b, o2, e2, z + 2);
    z[4] = y[3];
  }
  // One weight, or two.
  static GH_INLINE void even_weights(Vector w, Vector* u) {
    u[0] = w * all(na);
    u[1] = w * all(-na);
    u[2] = w * all(nb);
    u[3] = w * all(-nb);
  }
  static GH_INLINE void weights(Vector first, Vector second, Vector* u) {
    const Vector s = first * all(na), d = second * all(a * na);
    const Vector s2 = first * all(nb), d2 = second * all(b * nb);
    u[0] = d + s;
    u[1] = d - s;
    u[2] = d2 + s2;
    u[3] = d2 - s2;
    u[4] = second;
  }
  static GH_INLINE Vector first_gradient(const Vector* u) {
    return fma(all(na), u[0] - u[1], (u[2] - u[3]) * all(nb));
  }
  static GH_INLINE Vector second_gradient(const Vector* u) {
    return fma(all(a * na), u[0] + u[1], fma(all(b * nb), u[2] + u[3], u[4]));
  }
};

// What a strip goes through on its way in, from kIn values to kPoints frequencies. Tiles of data
// overlap, those of gradients do not.
template <class T, int kValues>
struct DataSide : T {
  static constexpr int kIn = kValues;
  static GH_INLINE void apply(const Vector* d, Vector* t) { T::data(d, t); }
};
template <class T>
struct GradientSide : T {
  static constexpr int kIn = T::kTile;
  static GH_INLINE void apply(const Vector* d, Vector* t) { T::gradient(d, t); }
};

}  // namespace
}  // namespace v1
}  // namespace gh
