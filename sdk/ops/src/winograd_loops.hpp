// The loops of winograd_kernels.hpp, written once for vectors of either size.
#pragma once

#include "winograd_products.hpp"
#include "winograd_strips.hpp"

namespace gh {
inline namespace v1 {
namespace {

// ---- weights ----

// Nine vectors, one a tap → frequencies, at a distance of `frequency`.
template <class T>
struct PlainWeights {
  static GH_INLINE void forward(const Vector (*w)[3], float* to, int64_t frequency, int64_t) {
    constexpr int kPoints = T::kPoints;
    Vector q[3][kPoints];
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      const Vector d[3] = {w[0][x], w[1][x], w[2][x]};
      T::weights(d, q[x]);
    }
#pragma GCC unroll 6
    for (int y = 0; y < kPoints; ++y) {
      const Vector d[3] = {q[0][y], q[1][y], q[2][y]};
      Vector u[kPoints];
      T::weights(d, u);
#pragma GCC unroll 6
      for (int x = 0; x < kPoints; ++x) store(to + (y * kPoints + x) * frequency, u[x]);
    }
  }
  // And back.
  static GH_INLINE void backward(const float* from, int64_t frequency, int64_t, Vector (*w)[3]) {
    constexpr int kPoints = T::kPoints;
    Vector q[3][kPoints];
#pragma GCC unroll 6
    for (int x = 0; x < kPoints; ++x) {
      Vector u[kPoints], d[3];
#pragma GCC unroll 6
      for (int y = 0; y < kPoints; ++y) u[y] = load(from + (y * kPoints + x) * frequency);
      T::weight_gradient(u, d);
#pragma GCC unroll 3
      for (int y = 0; y < 3; ++y) q[y][x] = d[y];
    }
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) T::weight_gradient(q[y], w[y]);
  }
};

struct StridedWeights {
  static constexpr int kPoints = Stride2::kPoints;

  static GH_INLINE void forward(const Vector (*w)[3], float* to, int64_t frequency, int64_t phase) {
    Vector q[9][3];  // five odd rows, four even ones
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      Vector u[9];
      Stride2::weights(w[0][x], w[2][x], u);
      Stride2::even_weights(w[1][x], u + kPoints);
#pragma GCC unroll 9
      for (int y = 0; y < 9; ++y) q[y][x] = u[y];
    }
#pragma GCC unroll 9
    for (int y = 0; y < 9; ++y) {
      const bool even = y >= kPoints;
      const int row = even ? y - kPoints : y;
      Vector u[9];
      Stride2::weights(q[y][0], q[y][2], u);
      Stride2::even_weights(q[y][1], u + kPoints);
      float* const p = to + row * kPoints * frequency;
#pragma GCC unroll 9
      for (int x = 0; x < 9; ++x) {
        const bool even_column = x >= kPoints;
        store(p + (even_column ? x - kPoints : x) * frequency +
                  Stride2::slot(row, even, even_column) * phase,
              u[x]);
      }
    }
  }
  static GH_INLINE void backward(const float* from, int64_t frequency, int64_t phase,
                                 Vector (*w)[3]) {
    Vector q[9][3];
#pragma GCC unroll 9
    for (int y = 0; y < 9; ++y) {
      const bool even = y >= kPoints;
      const int row = even ? y - kPoints : y;
      const float* const p = from + row * kPoints * frequency;
      Vector odd[5], even_column[4];
#pragma GCC unroll 5
      for (int x = 0; x < 5; ++x)
        odd[x] = load(p + x * frequency + Stride2::slot(row, even, false) * phase);
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x)
        even_column[x] = load(p + x * frequency + Stride2::slot(row, even, true) * phase);
      q[y][0] = Stride2::first_gradient(odd);
      q[y][1] = Stride2::first_gradient(even_column);
      q[y][2] = Stride2::second_gradient(odd);
    }
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      Vector odd[5], even[4];
#pragma GCC unroll 5
      for (int y = 0; y < 5; ++y) odd[y] = q[y][x];
#pragma GCC unroll 4
      for (int y = 0; y < 4; ++y) even[y] = q[kPoints + y][x];
      w[0][x] = Stride2::first_gradient(odd);
      w[1][x] = Stride2::first_gradient(even);
      w[2][x] = Stride2::second_gradient(odd);
    }
  }
};

template <class Weights>
void transform_weights(const WeightPanel& p) {
  const int64_t inputs = p.turned ? p.out : p.in;
  const int64_t first = p.panel * kPanel;
  const int64_t padded = (inputs + kPanel - 1) / kPanel * kPanel;
  for (int64_t c = 0; c < padded; c += 8) {
    alignas(64) float taps[9][8][kPanel];  // [tap][input][output]
    for (int tap = 0; tap < 9; ++tap) {
      for (int64_t half = 0; half < kPanel; half += 8) {
        __m256 t[8];
        for (int64_t i = 0; i < 8; ++i) {
          const int64_t out = p.turned ? c + i : first + half + i;
          const int64_t in = p.turned ? first + half : c;
          const float* const from = p.weights + (out * 9 + tap) * p.in + in;
          t[i] = out < p.out && in < p.in ? load_eight(from, p.in - in) : _mm256_setzero_ps();
          // More rows at once than the processor follows by itself.
          if (p.turned ? half == 0 : c % 16 == 0) fetch(from + (p.turned ? 8 * 9 * p.in : 16));
        }
        if (!p.turned) transpose(t);
        const int to = p.turned ? 8 - tap : tap;
        for (int64_t i = 0; i < 8; ++i) _mm256_store_ps(&taps[to][i][half], t[i]);
      }
    }
    for (int64_t i = 0; i < 8; ++i)
      for (int part = 0; part < kParts; ++part) {
        Vector w[3][3];
#pragma GCC unroll 9
        for (int tap = 0; tap < 9; ++tap) w[tap / 3][tap % 3] = load(&taps[tap][i][part * kLanes]);
        Weights::forward(w, p.transformed + (c + i) * kPanel + part * kLanes, p.frequency, p.phase);
      }
  }
}

template <class Weights>
void weight_gradient_block(const GradientBlock& b) {
  for (int64_t out = 0; out < b.outputs; ++out)
    for (int part = 0; part < kParts; ++part) {
      const int64_t lanes = lanes_in(b.inputs, part);
      if (lanes == 0) break;
      Vector w[3][3];
      Weights::backward(b.sums + out * kPanel + part * kLanes, b.frequency, b.phase, w);
      float* const to = b.gradient + out * 9 * b.in + part * kLanes;
      for (int tap = 0; tap < 9; ++tap) store_part(to + tap * b.in, w[tap / 3][tap % 3], lanes);
    }
}

int64_t one_phase(int64_t) { return 1; }

template <class T>
constexpr WinogradKernels kPlainLoops = {
    .tile = T::kTile,
    .points = T::kPoints,
    .stride = 1,
    .phases = 1,
    .phases_at = one_phase,
    .room = room_for,
    .data_in = strip_in<DataSide<T, T::kTile + 2>>,
    .gradient_in = strip_in<DataSide<T, T::kTile + 2>>,
    .gradient_tiles = strip_in<GradientSide<T>>,
    .output = strip_out<PlainOut<T>>,
    .data_gradient = strip_out<PlainOut<T>>,
    .weight_panel = transform_weights<PlainWeights<T>>,
    .product = product,
    .outer_product = outer_product,
    .gradient_block = weight_gradient_block<PlainWeights<T>>,
};

constexpr WinogradKernels kStridedLoops = {
    .tile = Stride2::kTile,
    .points = Stride2::kPoints,
    .stride = 2,
    .phases = 4,
    .phases_at = Stride2::phases_at,
    .room = room_for,
    .data_in = strided_strip_in,
    .gradient_in = strip_in<DataSide<Stride2, Stride2::kTile + 1>>,
    .gradient_tiles = strip_in<GradientSide<Stride2>>,
    .output = strip_out<PlainOut<Stride2>>,
    .data_gradient = strip_out<StridedOut>,
    .weight_panel = transform_weights<StridedWeights>,
    .product = product,
    .outer_product = outer_product,
    .gradient_block = weight_gradient_block<StridedWeights>,
};

constexpr WinogradFamily kWinogradLoops = {{kPlainLoops<Tile4>, kPlainLoops<Tile2>, kStridedLoops}};

}  // namespace
}  // namespace v1
}  // namespace gh
