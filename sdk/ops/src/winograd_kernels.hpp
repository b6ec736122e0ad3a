// Inner loops of Winograd's convolutions, compiled once for AVX2 and once for AVX-512. Each works
// on one strip, block or panel on the calling thread; winograd.cpp cuts a convolution into them.
//
// Layouts. A panel is 16 neighbouring channels, the last one filled up with zeros. A tile is
// tile×tile outputs of one channel, a strip the tiles of one row of them in one image. Transformed
// data have points² frequencies:
//   data, gradients, products  [frequency][phase][panel][tile][16]
//   weights                    [panel of outputs][frequency][phase][input channel][16]
//   gradient of the weights    [frequency][panel][phase][panel][16 outputs][16 inputs]
// Phases are those of the data of a convolution of stride 2: odd and even rows and columns. A
// frequency has the first phases_at(frequency) of them; with stride 1 there is one.
// Weights themselves are [out][3][3][in], that is, channels-last.
#pragma once

#include "kernel_sets.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

inline constexpr int64_t kPanel = 16;

// One panel of a strip: where it lies in an image, or in a gradient.
struct Strip {
  float* data;             // the image's first pixel, the panel's first channel
  int64_t height, width;   // of the image
  int64_t channels;        // of the panel, at most 16
  int64_t pixel, channel;  // distances between neighbours; one of them is 1
  int64_t first_row;       // the strip's; may be negative
  int64_t padding;         // columns before the first
  int64_t tiles;
  bool planes;  // [C][H][W], otherwise [H][W][C]
};

// One panel of a strip among the transformed.
struct Frequencies {
  float* data;        // of the first frequency and tile
  int64_t frequency;  // distances between frequencies and phases
  int64_t phase;
};

// Panels of the outputs for a block of tiles and one frequency:
//   products[output][tile][16] = Σ_c data[tile][c] · weights[output][c][16]
struct Product {
  const float* data;
  int64_t panel;  // distance between panels of data
  const float* weights;
  int64_t weight_panel;  // distance between panels of outputs
  float* products;
  int64_t product_panel;
  int64_t tiles, panels, outputs;
};

// A panel of transformed weights. `turned`: those of the gradient of the data, whose inputs are the
// convolution's outputs.
struct WeightPanel {
  const float* weights;
  int64_t out, in;  // of the convolution
  bool turned;
  int64_t panel;
  float* transformed;
  int64_t frequency, phase;  // distances
};

// sums[panel][16 outputs][16 inputs] (+)= Σ_tile gradients[tile][output] · data[panel][tile][input]
struct OuterProduct {
  const float* gradients;
  const float* data;
  int64_t panel;  // distance between panels of data
  float* sums;
  int64_t tiles, panels;
  bool add;
};

// One 16×16 block of the gradient of the weights, back to [out][3][3][in].
struct GradientBlock {
  const float* sums;
  int64_t frequency, phase;  // distances
  float* gradient;           // of the first output and input of the block
  int64_t outputs, inputs;   // of the block, at most 16
  int64_t in;                // of the convolution
};

struct WinogradKernels {
  int64_t tile, points, stride;
  int64_t phases;  // the most a frequency has
  int64_t (*phases_at)(int64_t frequency);
  int64_t (*room)(int64_t tiles);  // floats that strips of so many tiles need

  // Into frequencies: data; the gradient of the output, for that of the data; the gradient of the
  // output, for that of the weights.
  void (*data_in)(const Strip& from, const Frequencies& to, float* room);
  void (*gradient_in)(const Strip& from, const Frequencies& to, float* room);
  void (*gradient_tiles)(const Strip& from, const Frequencies& to, float* room);
  // And back: the output, the gradient of the data.
  void (*output)(const Frequencies& from, const Strip& to, float* room);
  void (*data_gradient)(const Frequencies& from, const Strip& to, float* room);

  void (*weight_panel)(const WeightPanel& panel);
  void (*product)(const Product& product);
  void (*outer_product)(const OuterProduct& product);
  void (*gradient_block)(const GradientBlock& block);
};

enum class WinogradKind {
  tile_4,   // F(4×4, 3×3)
  tile_2,   // F(2×2, 3×3)
  stride_2  // tiles of 4×4 outputs, stride 2, padding 1
};

// Those of each kind, in its order.
struct WinogradFamily {
  using Sets = VectorSets;
  WinogradKernels kinds[3];
  const WinogradKernels* of(WinogradKind kind) const { return &kinds[static_cast<int>(kind)]; }
};

}  // namespace v1
}  // namespace gh
