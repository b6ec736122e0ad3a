// Inner loops of K-means, compiled once for every processor, once for AVX2 and once for AVX-512.
// Each works on one block of rows on the calling thread; kmeans_lloyd.cpp cuts a problem into them.
//
// Nearness is a score, larger is nearer:  score = x·c + bias,  bias = −|c|²/2, or 0 for cosines.
// |x − c|² = |x|² + offset − 2·score with offset = 0, or 1 for cosines, where |c| = 1.
//
// Each centre has a place: a lane of a vector. A panel is some neighbouring vectors, packed as
// [width][vectors][lanes]. Bounds are kept for groups: a lane of `span` neighbouring vectors, which
// is a single centre unless there are many.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>
#include <type_traits>

namespace gh {
inline namespace v1 {

inline constexpr int64_t kKMeansBlock = 192;      // rows
inline constexpr int64_t kKMeansTile = 48;        // rows that are searched at a time
inline constexpr int64_t kKMeansGroups = 128;     // at most
inline constexpr int64_t kKMeansCandidates = 32;  // at most

// As wide as a T, for lanes.
template <class T>
using KMeansId = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T>
struct KMeansPanel {
  const T* centres;
  int64_t first, vectors;
};

// What all blocks of a round share.
template <class T>
struct KMeansRound {
  const T* x;  // [N, width]
  int64_t width;
  const T* squares;  // [N] |x|²
  T offset;

  const KMeansPanel<T>* panels;
  int64_t panel_count;
  const T* centres;         // [places, width], the same once more
  int64_t places;           // a multiple of span · lanes
  int64_t span;             // vectors that share a bound
  const T* biases;          // [places]; −∞ where there is no centre
  const KMeansId<T>* ids;   // [places] numbers of the centres
  const int32_t* place_of;  // [K]
  T longest;                // the largest |c|

  // No centre of the group but the row's own is nearer than bounds − drift.
  T* bounds;        // [N, groups], groups = places / span
  const T* drift;   // [groups] how far centres of the group may have moved since the first round
  int32_t* labels;  // [N] in and out; −1: none yet, then bounds are not read
};

template <class T>
struct KMeansKernels {
  using Sets = EverySet;
  int64_t lanes;
  int64_t panel;  // vectors at most
  // Labels of rows [begin, end), at most kKMeansBlock. `scores` has room for [kKMeansTile, places].
  void (*assign)(const KMeansRound<T>& round, int64_t begin, int64_t end, T* scores);
  // out[width] = Σ of the given rows
  void (*sum)(const T* x, int64_t width, const int32_t* rows, int64_t count, double* out);
  // squares[i] = |x_i|² for count rows from x on
  void (*squares)(const T* x, int64_t width, int64_t count, double* squares);
  // out[j][i] = min(nearest[i], |x_i − c_j|²) for count rows from x on and `candidates` centres;
  // out is [candidates] at a distance of `stride`. sums[j] = Σ_i out[j][i].
  void (*nearest)(const T* x, int64_t width, int64_t count, const T* const* centres,
                  int64_t candidates, const T* nearest, T* out, int64_t stride, double* sums);
};

}  // namespace v1
}  // namespace gh
