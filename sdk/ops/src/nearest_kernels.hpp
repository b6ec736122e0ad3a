// Inner loops of the search for nearest rows, compiled once for every processor, once for AVX2,
// once for AVX-512 and once for AVX-512 with bfloat16. Each works on the calling thread;
// nearest_search.cpp cuts a problem into pieces.
//
// A row x is kept as its image: (x − centre)·scale, rounded to what the kernels multiply. Images of
// bank rows lie in panels, those of queries in tiles, both [width][rows], so that one coordinate of
// all rows is a vector. The coarse score of a query and a bank row is the product of their images
// plus the bank row's bias; larger is nearer.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

// Where images are taken from.
struct NearestFrame {
  const double* centre;  // [width]
  double scale;
  int64_t width;
};

// A row before and after rounding; all times scale or scale².
struct NearestImage {
  double square;  // |x − centre|²
  double error;   // |x − centre − image|²
  double along;   // (x − centre)·centre
};

// Rows that a block of queries may yet want.
struct NearestRoom {
  float* thresholds;  // [queries] the least score that is wanted; +∞ for none
  int32_t* filled;    // [queries]
  float* scores;      // [queries, capacity]
  int32_t* ids;       // [queries, capacity] numbers of bank rows
  int64_t capacity;
};

template <class T>
struct NearestKernels {
  using Sets = KernelSets<KernelSet::avx512_bfloat16, KernelSet::avx512, KernelSet::avx2,
                          KernelSet::portable>;
  int64_t panel;                                  // rows of the bank
  int64_t tile;                                   // queries
  int64_t (*bytes)(int64_t width, int64_t rows);  // of a panel or tile
  // The image of one row at `place` of a panel or tile of `rows`.
  NearestImage (*pack)(const T* x, const NearestFrame& frame, int64_t place, int64_t rows,
                       void* out);
  // Scores of all queries with one panel; those that are wanted are added to the room, which has
  // space for a panel more. bias [panel]; `first` is the number of the panel's first row.
  void (*scan)(const void* tiles, int64_t count, const void* panel, const float* bias,
               int32_t first, int64_t width, const NearestRoom& room);
  // a·b and |a − b|² in float64
  double (*product)(const T* a, const T* b, int64_t width);
  double (*distance)(const T* a, const T* b, int64_t width);
};

}  // namespace v1
}  // namespace gh
