// Inner loops over pixels, compiled once for every x86-64 and once for AVX2; both give the same
// bytes. All arithmetic equals Pillow's: integer where it is integer there, single or double
// precision where it is so there.
//
// Planes are uint8. Functions that work in blocks say so: they read and write up to kBlock − 1
// bytes behind `n`, so buffers carry kBlock bytes of slack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gh::host {

inline constexpr int kBlock = 32;
constexpr int round_up_to_block(int n) { return (n + kBlock - 1) / kBlock * kBlock; }

// Weights of one output row: Σ_k weight[k]·in[first + k], 22 fractional bits. Weights are split
// into low and high 15 bits and stored in pairs, as the multiply-add of 16-bit lanes takes them.
struct Taps {
  int first = 0;
  int count = 0;
  const int32_t* low = nullptr;   // (count + 1) / 2 pairs: weight k in the low half, k + 1 above
  const int32_t* high = nullptr;  // the same for weight >> 15
};

struct Kernels {
  const char* name;

  // out[j][i] = clip((Σ_k weight_j[k]·in[first_j + k][i] + 2^21) >> 22) for i < n, in blocks.
  void (*resample)(const uint8_t* in, std::ptrdiff_t in_stride, const Taps* taps, int rows,
                   uint8_t* out, std::ptrdiff_t out_stride, int n);
  // out[x][y] = in[y][x] for y < rows, x < columns.
  void (*transpose)(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int columns,
                    uint8_t* out, std::ptrdiff_t out_stride);
  // The three channels of interleaved RGB rows, transposed: out_c[x][y] = in[y][x][c].
  void (*transpose_rgb)(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int columns,
                        uint8_t* const out[3], std::ptrdiff_t out_stride);
  // One pass of a box filter over rows with repeated edges: out[y][i] = (inner·Σ_{|d| ≤ radius}
  // in[y+d][i] + outer·(in[y−radius−1][i] + in[y+radius+1][i]) + 2^23) >> 24, in blocks.
  void (*box_filter)(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int radius,
                     uint32_t inner, uint32_t outer, uint8_t* out, std::ptrdiff_t out_stride,
                     int n);

  // x = clip(trunc(grey + factor·(x − grey))), in single precision.
  void (*blend)(uint8_t* x, std::size_t n, int grey, float factor);
  // The same with each pixel's own luma as grey.
  void (*saturate)(uint8_t* r, uint8_t* g, uint8_t* b, std::size_t n, float factor);
  // Turns the hue by `shift`/256 of a circle in 8-bit HSV.
  void (*turn_hue)(uint8_t* r, uint8_t* g, uint8_t* b, std::size_t n, int shift);
  // (19595 R + 38470 G + 7471 B + 2^15) >> 16
  void (*luma)(const uint8_t* r, const uint8_t* g, const uint8_t* b, std::size_t n, uint8_t* out);
  uint64_t (*luma_sum)(const uint8_t* r, const uint8_t* g, const uint8_t* b, std::size_t n);
  // x ≥ threshold becomes 255 − x.
  void (*solarize)(uint8_t* x, std::size_t n, int threshold);
  // out = scale·x − shift
  void (*normalize)(const uint8_t* x, std::size_t n, float scale, float shift, float* out);
};

// The fastest this processor can run.
const Kernels& kernels();
const Kernels& portable_kernels();
// Null where the program or the processor has none.
const Kernels* avx2_kernels();

}  // namespace gh::host
