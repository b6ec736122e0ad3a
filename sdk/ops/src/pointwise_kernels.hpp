// Inner loops of 1×1 convolutions, compiled once for AVX2 and once for AVX-512. A convolution of
// channels-last images is a product of matrices with a row for each pixel; pointwise.cpp cuts it
// into pieces of which these compute tiles, on the calling thread.
//
// Packed matrices lie in panels of columns: [panel][row][width], the last panel filled up with
// zeros.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

inline constexpr int64_t kPointwisePanel = 16;  // columns of a panel of left factors

// to[row][column] (+)= Σ_k from[row][k] · right[k][column], for one panel of columns
struct PointwiseProduct {
  const float* const* from;  // where each row is
  const float* right;        // packed, a panel of `wide`
  float* const* to;
  int64_t column;  // the panel's first in `to`
  int64_t rows, depth, columns;
};

// Some columns of a matrix: where each of its rows is, and the first column.
struct PointwiseColumns {
  const float* const* rows;
  int64_t first;
};

// sums[i][j] (+)= Σ_row left[row][i] · right[row][j], for one panel of each. Whole panels are read,
// of kPointwisePanel and of `outer_wide` columns.
struct PointwiseOuter {
  PointwiseColumns left, right;
  float* sums;
  int64_t step;  // distance between rows of sums
  int64_t rows, height, columns;
  bool add;
};

struct PointwiseKernels {
  using Sets = VectorSets;
  int64_t wide, outer_wide;  // columns of a panel of right factors
  // `columns` of `count` rows → [panel][count][width] at a distance of `panel`; width is one of
  // kPointwisePanel, wide and outer_wide.
  void (*pack)(const PointwiseColumns& from, int64_t count, int64_t columns, int64_t width,
               int64_t panel, float* to);
  // A panel of the transposed of [rows][columns] at a distance of `columns`: [columns][wide].
  void (*pack_turned)(const float* from, int64_t rows, int64_t columns, float* to);
  void (*product)(const PointwiseProduct& product);
  void (*outer)(const PointwiseOuter& outer);
};

}  // namespace v1
}  // namespace gh
