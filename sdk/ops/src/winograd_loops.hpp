// The loops of winograd_kernels.hpp, written once for vectors of either size and included by the
// sources that compile them. Nothing of the standard library in here: an inline function compiled
// for these instructions could be the one that the linker keeps.
#pragma once

#include "winograd_products.hpp"
#include "winograd_transforms.hpp"

namespace gh {
inline namespace v1 {
namespace {

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

// Rows of a strip transformed along columns, and as many gathered from planes. Nine rows and eight
// columns a tile is the most that any needs.
int64_t room_for(int64_t tiles) { return 2 * 9 * (8 * tiles + 2) * kPanel; }

// Where the rows of a strip lie: in the image, gathered in a room, or nowhere, then zeros.
template <int kRowsIn>
struct RowsOf {
  const float* row[kRowsIn];
  int64_t step[kRowsIn];

  RowsOf(const Strip& strip, float* room) {
    alignas(64) static constexpr float kZeros[kPanel] = {};
    const int64_t first = most(0, strip.first_row);
    const int64_t last = least(strip.height, strip.first_row + kRowsIn);
    if (strip.planes && first < last)
      gather(strip.data + first * strip.width, strip.channel, strip.channels,
             (last - first) * strip.width, room);
    for (int i = 0; i < kRowsIn; ++i) {
      const int64_t r = strip.first_row + i;
      const bool inside = r >= first && r < last;
      step[i] = !inside ? 0 : strip.planes ? kPanel : strip.pixel;
      row[i] = !inside        ? kZeros
               : strip.planes ? room + (r - first) * strip.width * kPanel
                              : strip.data + r * strip.width * strip.pixel;
    }
  }
  void next_part() {
    for (int i = 0; i < kRowsIn; ++i) row[i] += step[i] == 0 ? 0 : kLanes;
  }
  template <bool kWhole>
  GH_INLINE Vector at(int i, int64_t column, int64_t lanes) const {
    const float* const p = row[i] + column * step[i];
    fetch(p + kPanel);  // the next panel's
    return kWhole ? load(p) : load_part(p, lanes);
  }
};

// Columns outside the image are zeros.
template <int kCount>
GH_INLINE void clear_columns(float* room, int64_t columns, int64_t begin, int64_t end) {
  for (int i = 0; i < kCount; ++i) {
    for (int64_t j = 0; j < begin; ++j) store(room + (i * columns + j) * kLanes, all(0));
    for (int64_t j = end; j < columns; ++j) store(room + (i * columns + j) * kLanes, all(0));
  }
}

template <class Side, bool kWhole>
GH_INLINE void transform_strip(const RowsOf<Side::kIn>& rows, const Strip& strip, int64_t lanes,
                               float* to, int64_t frequency, float* room) {
  constexpr int kTile = Side::kTile, kPoints = Side::kPoints;
  const int64_t columns = strip.tiles * kTile + (Side::kIn - kTile);
  const int64_t begin = least(strip.padding, columns);
  const int64_t end = least(strip.padding + strip.width, columns);
  for (int64_t j = begin; j < end; ++j) {
    Vector d[Side::kIn], t[kPoints];
#pragma GCC unroll 6
    for (int i = 0; i < Side::kIn; ++i)
      d[i] = rows.template at<kWhole>(i, j - strip.padding, lanes);
    Side::apply(d, t);
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i) store(room + (i * columns + j) * kLanes, t[i]);
  }
  clear_columns<kPoints>(room, columns, begin, end);
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

template <class Side>
void strip_in(const Strip& strip, const Frequencies& to, float* room) {
  RowsOf<Side::kIn> rows(strip, room + room_for(strip.tiles) / 2);
  for (int part = 0; part < kParts; ++part, rows.next_part()) {
    const int64_t lanes = strip.planes ? kLanes : lanes_in(strip.channels, part);
    float* const out = to.data + part * kLanes;
    if (lanes == kLanes)
      transform_strip<Side, true>(rows, strip, lanes, out, to.frequency, room);
    else
      transform_strip<Side, false>(rows, strip, lanes, out, to.frequency, room);
  }
}

// Nine values, the first of them odd, as five odd and four even ones.
GH_INLINE void transform_phases(const Vector* d, Vector* odd, Vector* even) {
  const Vector o[5] = {d[0], d[2], d[4], d[6], d[8]}, e[4] = {d[1], d[3], d[5], d[7]};
  Stride2::data(o, odd);
  Stride2::even_data(e, even);
}

template <bool kWhole>
GH_INLINE void transform_strided(const RowsOf<9>& rows, const Strip& strip, int64_t lanes,
                                 float* first, const Frequencies& to, float* room) {
  constexpr int kPoints = Stride2::kPoints;
  const int64_t columns = strip.tiles * 8 + 1;
  const int64_t begin = least(strip.padding, columns);
  const int64_t end = least(strip.padding + strip.width, columns);
  for (int64_t j = begin; j < end; ++j) {
    Vector d[9], t[9];
#pragma GCC unroll 9
    for (int i = 0; i < 9; ++i) d[i] = rows.at<kWhole>(i, j - strip.padding, lanes);
    transform_phases(d, t, t + kPoints);
#pragma GCC unroll 9
    for (int i = 0; i < 9; ++i) store(room + (i * columns + j) * kLanes, t[i]);
  }
  clear_columns<9>(room, columns, begin, end);
  for (int64_t tile = 0; tile < strip.tiles; ++tile)
#pragma GCC unroll 9
    for (int i = 0; i < 9; ++i) {
      const bool even = i >= kPoints;
      const int row = even ? i - kPoints : i;
      Vector d[9], t[9];
#pragma GCC unroll 9
      for (int j = 0; j < 9; ++j) d[j] = load(room + (i * columns + tile * 8 + j) * kLanes);
      transform_phases(d, t, t + kPoints);
      float* const p = first + row * kPoints * to.frequency + tile * kPanel;
#pragma GCC unroll 5
      for (int j = 0; j < kPoints; ++j)
        store(p + j * to.frequency + Stride2::slot(row, even, false) * to.phase, t[j]);
#pragma GCC unroll 4
      for (int j = 0; j < kPoints - 1; ++j)
        store(p + j * to.frequency + Stride2::slot(row, even, true) * to.phase, t[kPoints + j]);
    }
}

void strided_strip_in(const Strip& strip, const Frequencies& to, float* room) {
  RowsOf<9> rows(strip, room + room_for(strip.tiles) / 2);
  for (int part = 0; part < kParts; ++part, rows.next_part()) {
    const int64_t lanes = strip.planes ? kLanes : lanes_in(strip.channels, part);
    float* const out = to.data + part * kLanes;
    if (lanes == kLanes)
      transform_strided<true>(rows, strip, lanes, out, to, room);
    else
      transform_strided<false>(rows, strip, lanes, out, to, room);
  }
}

// Where the pixels of a tile go, and how many of them are inside the image.
struct TileOut {
  float* to;
  int64_t row, pixel;  // distances
  int64_t rows, columns, lanes;
};

template <int kCount, bool kWhole>
GH_INLINE void store_row(const TileOut& t, int i, int first, int step, const Vector* y) {
#pragma GCC unroll 4
  for (int j = 0; j < kCount; ++j) {
    const int column = first + step * j;
    if (kWhole)
      store(t.to + i * t.row + column * t.pixel, y[j]);
    else if (i < t.rows && column < t.columns)
      store_part(t.to + i * t.row + column * t.pixel, y[j], t.lanes);
  }
}

// One tile: products of all frequencies → outputs.
template <class T, bool kWhole>
GH_INLINE void tile_out(const float* from, const Frequencies& f, const TileOut& out) {
  constexpr int kTile = T::kTile, kPoints = T::kPoints;
  Vector q[kTile][kPoints];
#pragma GCC unroll 6
  for (int j = 0; j < kPoints; ++j) {
    Vector m[kPoints], y[kTile];
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i) m[i] = load(from + (i * kPoints + j) * f.frequency);
    T::output(m, y);
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) q[i][j] = y[i];
  }
#pragma GCC unroll 4
  for (int i = 0; i < kTile; ++i) {
    Vector y[kTile];
    T::output(q[i], y);
    store_row<kTile, kWhole>(out, i, 0, 1, y);
  }
}

// One tile of 8×8 values of the gradient of the data: those in rows and columns of one parity.
template <bool kEvenRows, bool kEvenColumns, bool kWhole>
GH_INLINE void phase_out(const float* from, const Frequencies& f, const TileOut& out) {
  constexpr int kPoints = Stride2::kPoints;
  constexpr int kRows = Stride2::count(kEvenRows), kColumns = Stride2::count(kEvenColumns);
  Vector q[4][kColumns];
#pragma GCC unroll 5
  for (int j = 0; j < kColumns; ++j) {
    Vector m[kRows], y[4];
#pragma GCC unroll 5
    for (int i = 0; i < kRows; ++i)
      m[i] = load(from + (i * kPoints + j) * f.frequency +
                  Stride2::slot(i, kEvenRows, kEvenColumns) * f.phase);
    kEvenRows ? Stride2::even_output(m, y) : Stride2::output(m, y);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) q[i][j] = y[i];
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    Vector y[4];
    kEvenColumns ? Stride2::even_output(q[i], y) : Stride2::output(q[i], y);
    store_row<4, kWhole>(out, 2 * i + (kEvenRows ? 0 : 1), kEvenColumns ? 0 : 1, 2, y);
  }
}

struct StridedOut {
  static constexpr int kPixels = 8;
  template <bool kWhole>
  static GH_INLINE void tile(const float* from, const Frequencies& f, const TileOut& out) {
    phase_out<false, false, kWhole>(from, f, out);
    phase_out<false, true, kWhole>(from, f, out);
    phase_out<true, false, kWhole>(from, f, out);
    phase_out<true, true, kWhole>(from, f, out);
  }
};
template <class T>
struct PlainOut {
  static constexpr int kPixels = T::kTile;
  template <bool kWhole>
  static GH_INLINE void tile(const float* from, const Frequencies& f, const TileOut& out) {
    tile_out<T, kWhole>(from, f, out);
  }
};

template <class Out>
void strip_out(const Frequencies& from, const Strip& strip, float* room) {
  constexpr int kPixels = Out::kPixels;
  const int64_t rows = least(kPixels, strip.height - strip.first_row);
  const int64_t pixel = strip.planes ? kPanel : strip.pixel, row = strip.width * pixel;
  float* const first = strip.data + strip.first_row * strip.width * strip.pixel;
  float* const to = strip.planes ? room : first;
  for (int part = 0; part < kParts; ++part) {
    const int64_t lanes = strip.planes ? kLanes : lanes_in(strip.channels, part);
    if (lanes == 0) break;
    for (int64_t tile = 0; tile < strip.tiles; ++tile) {
      const int64_t columns = least(kPixels, strip.width - tile * kPixels);
      const float* const f = from.data + tile * kPanel + part * kLanes;
      const TileOut out{.to = to + tile * kPixels * pixel + part * kLanes,
                        .row = row,
                        .pixel = pixel,
                        .rows = rows,
                        .columns = columns,
                        .lanes = lanes};
      if (rows == kPixels && columns == kPixels && lanes == kLanes)
        Out::template tile<true>(f, from, out);
      else
        Out::template tile<false>(f, from, out);
    }
  }
  if (strip.planes) scatter(room, rows * strip.width, first, strip.channel, strip.channels);
}

// ---- weights ----

// Nine vectors, one a tap → frequencies, at a distance of `frequency`.
template <class T>
struct PlainWeights {
  static GH_INLINE void forward(const Vector (*w)[3], float* to, int64_t frequency, int64_t) {
    constexpr int kPoints = T::kPoints;
    Vector q[kPoints][3];
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      const Vector d[3] = {w[0][x], w[1][x], w[2][x]};
      Vector u[kPoints];
      T::weights(d, u);
#pragma GCC unroll 6
      for (int y = 0; y < kPoints; ++y) q[y][x] = u[y];
    }
#pragma GCC unroll 6
    for (int y = 0; y < kPoints; ++y) {
      Vector u[kPoints];
      T::weights(q[y], u);
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

const WinogradKernels* loops_for(WinogradKind kind) {
  switch (kind) {
    case WinogradKind::tile_4:
      return &kPlainLoops<Tile4>;
    case WinogradKind::tile_2:
      return &kPlainLoops<Tile2>;
    case WinogradKind::stride_2:
      return &kStridedLoops;
  }
  return nullptr;
}

#undef GH_INLINE

}  // namespace
}  // namespace v1
}  // namespace gh
