// Inner loops of linear classifiers, compiled once for every processor, once for AVX2 and once for
// AVX-512. Each works on one block on the calling thread; linear_pass.cpp cuts a problem into them.
//
// Lanes are classes. They lie in panels of `vectors` vectors: weights [width][vectors·lanes],
// scores [kLinearRows][vectors·lanes], one panel after the other. Rows of x are packed in blocks:
// [width / kLinearDims][kLinearRows][kLinearDims], so that both products, x·w and xᵀ·errors, read
// them in order. What a block lacks in rows and in width is zero.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

inline constexpr int64_t kLinearRows = 64;  // of a block
inline constexpr int64_t kLinearDims = 16;  // of x that lie together
inline constexpr int64_t kLinearTile = 8;  // rows of a block that are computed are a multiple of it

// One step of an optimiser with gradient g + l2·w.
template <class T>
struct AdamStep {
  T l2, keep1, keep2;  // keep: of the running means
  T rate;              // rate / (1 − keep1ᵗ)
  T root;              // 1 / √(1 − keep2ᵗ)
  T epsilon;
};
template <class T>
struct SgdStep {
  T l2, momentum, rate;
};

template <class T>
struct LinearKernels {
  using Sets = EverySet;
  int64_t lanes;
  int64_t vectors;  // at most, of a panel
  // `count` rows → a packed block with zeros up to the next tile.
  void (*pack)(const T* const* rows, int64_t count, int64_t width, T* packed);
  // scores += packed · weight, of one panel; `rows` is a multiple of kLinearTile, `dims` of
  // kLinearDims.
  void (*multiply)(const T* packed, int64_t rows, int64_t dims, const T* weight, int64_t vectors,
                   T* scores);
  // gradient[dims][vectors·lanes] += packedᵀ · errors, of one panel.
  void (*accumulate)(const T* packed, int64_t rows, int64_t dims, const T* errors, int64_t vectors,
                     T* gradient);
  // In place: z → exp(z − max). `panels` of sizes `vectors`; sum and max of each row come out.
  void (*exponentials)(T* scores, int64_t rows, const int64_t* vectors, int64_t panels, T* sums,
                       T* largest);
  // In place: every value of row i times factors[i].
  void (*scale)(T* scores, int64_t rows, const int64_t* vectors, int64_t panels, const T* factors);
  void (*adam)(const AdamStep<T>& step, int64_t n, const T* gradient, T* weight, T* mean,
               T* square);
  void (*sgd)(const SgdStep<T>& step, int64_t n, const T* gradient, T* weight, T* mean);
};

}  // namespace v1
}  // namespace gh
