// Strips of images into Winograd's frequencies and back.
#pragma once

#include "winograd_transforms.hpp"

namespace gh {
inline namespace v1 {
namespace {

// ---- planes ↔ pixels ----

// [channels][count] at a distance of `plane` → [count][16].
void gather(const float* from, int64_t plane, int64_t channels, int64_t count, float* to) {
  turn(from, plane, channels, count, to, kPanel);
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

}  // namespace
}  // namespace v1
}  // namespace gh
