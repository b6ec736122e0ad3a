// The loops of pointwise_kernels.hpp, written once for vectors of either size.
#pragma once

#include "panel_vectors.hpp"
#include "pointwise_kernels.hpp"

namespace gh {
inline namespace v1 {
namespace {

constexpr int64_t kLeft = kPointwisePanel;
#if defined(__AVX512F__)
constexpr int kVectors = 4;  // of a row of a tile; six rows are held in registers
#else
constexpr int kVectors = 2;
#endif
constexpr int kTileRows = 6;
constexpr int64_t kWide = kVectors * kLanes, kOuterWide = 2 * kLanes;

// ---- packing ----

template <int64_t kWidth>
void pack_panels(const PointwiseColumns& p, int64_t count, int64_t columns, int64_t panel,
                 float* to) {
  // Panels inside, so that rows are read in the order of memory.
  for (int64_t r = 0; r < count; ++r, to += kWidth) {
    const float* const from = p.rows[r] + p.first;
    float* out = to;
    int64_t c = 0;
    for (; c + kWidth <= columns; c += kWidth, out += panel)
#pragma GCC unroll 4
      for (int64_t i = 0; i < kWidth; i += kLanes) store(out + i, load(from + c + i));
    if (c < columns)
      for (int64_t i = 0; i < kWidth; i += 8)
        _mm256_storeu_ps(out + i, load_eight(from + c + i, columns - c - i));
  }
}

void pack(const PointwiseColumns& from, int64_t count, int64_t columns, int64_t width,
          int64_t panel, float* to) {
  if (width == kLeft) return pack_panels<kLeft>(from, count, columns, panel, to);
  if (width == kOuterWide) return pack_panels<kOuterWide>(from, count, columns, panel, to);
  pack_panels<kWide>(from, count, columns, panel, to);
}

void pack_turned(const float* from, int64_t rows, int64_t columns, float* to) {
  turn(from, columns, rows, columns, to, kWide);
}

// ---- products ----

template <int kRows, int kParts>
struct Tile : HeldSums<kRows, kParts> {
  using HeldSums<kRows, kParts>::sum;

  // Adds left(i) · right[…] to row i.
  template <class Left>
  GH_INLINE void multiply(const Left& left, const float* right) {
    Vector r[kParts];
#pragma GCC unroll 4
    for (int j = 0; j < kParts; ++j) r[j] = load(right + j * kLanes);
    HeldSums<kRows, kParts>::multiply(left, r);
  }
  GH_INLINE void put(int i, float* to, int64_t columns, bool add) {
    if (columns == kParts * kLanes) {
#pragma GCC unroll 4
      for (int j = 0; j < kParts; ++j) {
        if (add) sum[i][j] = sum[i][j] + load(to + j * kLanes);
        store(to + j * kLanes, sum[i][j]);
      }
      return;
    }
#pragma GCC unroll 4
    for (int j = 0; j < kParts; ++j) {
      const int64_t lanes = most(0, least(kLanes, columns - j * kLanes));
      Vector s = sum[i][j];
      if (add) s = s + load_part(to + j * kLanes, lanes);
      store_part(to + j * kLanes, s, lanes);
    }
  }
};

// The right factors of so many rows, 32 KB at most, stay in the first cache.
constexpr int64_t kDepth = 128;

// The rows after these are fetched: products alone would leave the memory idle.
template <int kRows>
__attribute__((noinline)) void product_rows(const PointwiseProduct& p, int64_t row, int64_t first,
                                            int64_t depth) {
  Tile<kRows, kVectors> tile;
  const float* from[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) from[i] = p.from[row + i] + first;
  const float* b = p.right + first * kWide;
  const int64_t more = least(kRows, p.rows - row - kRows);
  const float* const* const next = p.from + row + kRows;
  int64_t k = 0;
  for (; k + 16 <= depth; k += 16, b += 16 * kWide) {
    for (int64_t i = 0; i < more; ++i) fetch(next[i] + first + k);
#pragma GCC unroll 4
    for (int i = 0; i < 16; ++i)
      tile.multiply([&](int r) { return from[r][k + i]; }, b + i * kWide);
  }
  for (; k < depth; ++k, b += kWide) tile.multiply([&](int r) { return from[r][k]; }, b);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) tile.put(i, p.to[row + i] + p.column, p.columns, first > 0);
}

using ProductRows = void (*)(const PointwiseProduct&, int64_t, int64_t, int64_t);
constexpr ProductRows kProductRows[] = {nullptr,         product_rows<1>, product_rows<2>,
                                        product_rows<3>, product_rows<4>, product_rows<5>,
                                        product_rows<6>};

void product(const PointwiseProduct& p) {
  const int64_t cuts = (p.rows + kTileRows - 1) / kTileRows;
  const int64_t rows = p.rows / cuts, more = p.rows % cuts;
  for (int64_t first = 0; first < p.depth; first += kDepth) {
    const int64_t depth = least(kDepth, p.depth - first);
    int64_t row = 0;
    for (int64_t i = 0; i < cuts; ++i) {
      const int64_t count = rows + (i < more ? 1 : 0);
      kProductRows[count](p, row, first, depth);
      row += count;
    }
  }
}

// The next panel of the left ones is fetched: from row to row it is too far for the processor to
// see by itself.
template <int kCount>
__attribute__((noinline)) void outer_rows(const PointwiseOuter& p, int first) {
  Tile<kCount, 2> tile;
  const auto add_row = [&](int64_t r) __attribute__((always_inline)) {
    const float* const a = p.left.rows[r] + p.left.first + first;
    const float* const b = p.right.rows[r] + p.right.first;
    if (first == 0) fetch(a + kLeft);
    tile.multiply([&](int j) { return a[j]; }, b);
  };
  int64_t r = 0;
  for (; r + 4 <= p.rows; r += 4) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) add_row(r + i);
  }
  for (; r < p.rows; ++r) add_row(r);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i)
    if (first + i < p.height) tile.put(i, p.sums + (first + i) * p.step, p.columns, p.add);
}

void outer(const PointwiseOuter& p) {
#if defined(__AVX512F__)
  outer_rows<8>(p, 0);
  if (p.height > 8) outer_rows<8>(p, 8);
#else
  outer_rows<6>(p, 0);
  if (p.height > 6) outer_rows<5>(p, 6);
  if (p.height > 11) outer_rows<5>(p, 11);
#endif
}

constexpr PointwiseKernels kPointwiseLoops = {.wide = kWide,
                                              .outer_wide = kOuterWide,
                                              .pack = pack,
                                              .pack_turned = pack_turned,
                                              .product = product,
                                              .outer = outer};

}  // namespace
}  // namespace v1
}  // namespace gh
