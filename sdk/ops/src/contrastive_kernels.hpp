// Inner loops of contrastive losses. Each works on one block of scores on the calling thread;
// contrastive_pass.cpp cuts a problem into them.
//
// A block has kContrastiveRows rows, its columns lie in panels: b is [panel][depth][panel columns],
// and a value of a block is at [row][column]. Scores are products x·c; those of a row times its
// inverse temperature are what exponentials are taken of. A score of −∞ is no column at all.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

inline constexpr int64_t kContrastiveRows = 48;      // of a block
inline constexpr int64_t kContrastiveColumns = 384;  // of a block, at most; whole panels

// out[row][column] (+)= Σ_k a[row][k] · b[k][column], kContrastiveRows rows and one panel, whose
// first `columns` values are wanted; a multiple of the lanes.
template <class T>
struct ContrastiveProduct {
  const T* a;
  int64_t a_step;  // distance between rows
  const T* b;
  int64_t b_step;
  int64_t depth, columns;
  T* out;
  int64_t out_step;
  bool add;
};

// What turns scores into weights on one side of a block: w·exp(score·inverse − log_sum).
template <class T>
struct ContrastiveSide {
  const T* weight;  // null: this side has none
  const T* inverse;
  const T* log_sum;
};

template <class T>
struct ContrastiveKernels {
  using Sets = EverySet;
  int64_t lanes;
  int64_t panel;  // columns
  void (*multiply)(const ContrastiveProduct<T>& product);
  // Of each row: the running largest score·inverse and Σ exp(score·inverse − largest) go on over
  // the first `columns`, a multiple of the lanes. NaN stays NaN.
  void (*log_sums)(const T* scores, int64_t columns, int64_t step, const T* inverse, T* largest,
                   double* sums);
  // In place: scores become weights, the sum of what the row's side and the column's side say.
  void (*weights)(T* scores, int64_t columns, int64_t step, const ContrastiveSide<T>& rows,
                  const ContrastiveSide<T>& of_columns);
};

}  // namespace v1
}  // namespace gh
