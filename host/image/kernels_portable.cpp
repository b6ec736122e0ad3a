// The kernels in plain C++: the reference for the vectorised ones, and what old processors run.
#include "image/kernels.hpp"

#include <array>

namespace gh::host {
namespace {

uint8_t clip(int x) { return static_cast<uint8_t>(x < 0 ? 0 : x > 255 ? 255 : x); }

int32_t weight(const Taps& taps, int k) {
  const int shift = k % 2 * 16;
  const auto low = static_cast<int16_t>(taps.low[k / 2] >> shift);
  const auto high = static_cast<int16_t>(taps.high[k / 2] >> shift);
  return high * 32768 + low;
}

void resample(const uint8_t* in, std::ptrdiff_t in_stride, const Taps* taps, int rows, uint8_t* out,
              std::ptrdiff_t out_stride, int n) {
  for (int j = 0; j < rows; ++j, out += out_stride) {
    const uint8_t* first = in + taps[j].first * in_stride;
    for (int block = 0; block < n; block += kBlock) {
      int32_t sum[kBlock];
      for (int32_t& s : sum) s = 1 << 21;
      for (int k = 0; k < taps[j].count; ++k) {
        const int32_t w = weight(taps[j], k);
        const uint8_t* row = first + k * in_stride + block;
        for (int i = 0; i < kBlock; ++i) sum[i] += w * row[i];
      }
      for (int i = 0; i < kBlock; ++i) out[block + i] = clip(sum[i] >> 22);
    }
  }
}

void transpose(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int columns, uint8_t* out,
               std::ptrdiff_t out_stride) {
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) out[x * out_stride + y] = in[y * in_stride + x];
}

void transpose_rgb(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int columns,
                   uint8_t* const out[3], std::ptrdiff_t out_stride) {
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      for (int c = 0; c < 3; ++c) out[c][x * out_stride + y] = in[y * in_stride + 3 * x + c];
}

void box_filter(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int radius, uint32_t inner,
                uint32_t outer, uint8_t* out, std::ptrdiff_t out_stride, int n) {
  const auto row = [&](int y) { return in + (y < 0 ? 0 : y >= rows ? rows - 1 : y) * in_stride; };
  for (int y = 0; y < rows; ++y, out += out_stride) {
    const uint8_t* above = row(y - radius - 1);
    const uint8_t* below = row(y + radius + 1);
    for (int block = 0; block < n; block += kBlock) {
      uint32_t sum[kBlock] = {};
      for (int d = -radius; d <= radius; ++d) {
        const uint8_t* middle = row(y + d) + block;
        for (int i = 0; i < kBlock; ++i) sum[i] += middle[i];
      }
      for (int i = 0; i < kBlock; ++i) {
        const uint32_t ends = uint32_t{above[block + i]} + below[block + i];
        out[block + i] = static_cast<uint8_t>((sum[i] * inner + ends * outer + (1u << 23)) >> 24);
      }
    }
  }
}

uint8_t blended(int x, int grey, float factor) {
  return clip(static_cast<int>(static_cast<float>(grey) + factor * static_cast<float>(x - grey)));
}

uint8_t luma_of(int r, int g, int b) {
  return static_cast<uint8_t>((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
}

void blend(uint8_t* x, std::size_t n, int grey, float factor) {
  for (std::size_t i = 0; i < n; ++i) x[i] = blended(x[i], grey, factor);
}

void saturate(uint8_t* r, uint8_t* g, uint8_t* b, std::size_t n, float factor) {
  for (std::size_t i = 0; i < n; ++i) {
    const int grey = luma_of(r[i], g[i], b[i]);
    r[i] = blended(r[i], grey, factor);
    g[i] = blended(g[i], grey, factor);
    b[i] = blended(b[i], grey, factor);
  }
}

// Pillow's 8-bit HSV: what depends on one byte only is tabulated.
struct HsvTables {
  std::array<float, 256> fraction;    // of the sixth of the circle a hue lies in
  std::array<float, 256> saturation;  // s / 255
};

constexpr HsvTables make_hsv_tables() {
  HsvTables t{};
  for (int i = 0; i < 256; ++i) {
    const double sixth = static_cast<float>(i) * 6.0 / 255.0;
    t.fraction[i] = static_cast<float>(sixth - static_cast<float>(static_cast<int>(sixth)));
    t.saturation[i] = static_cast<float>(static_cast<float>(i) / 255.0);
  }
  return t;
}
constexpr HsvTables kHsv = make_hsv_tables();

struct Hsv {
  int h, s, v;
};

Hsv to_hsv(int r, int g, int b) {
  const int high = r > g ? (r > b ? r : b) : (g > b ? g : b);
  const int low = r < g ? (r < b ? r : b) : (g < b ? g : b);
  if (high == low) return {0, 0, high};
  const float range = static_cast<float>(high - low);
  const float s = range / static_cast<float>(high);
  const float rc = static_cast<float>(high - r) / range;
  const float gc = static_cast<float>(high - g) / range;
  const float bc = static_cast<float>(high - b) / range;
  const float sixths = static_cast<float>(r == high   ? double{bc} - gc
                                          : g == high ? 2.0 + rc - bc
                                                      : 4.0 + gc - rc);
  const double turned = sixths / 6.0 + 1.0;
  const float h = static_cast<float>(turned >= 1.0 ? turned - 1.0 : turned);
  return {clip(static_cast<int>(h * 255.0)), clip(static_cast<int>(s * 255.0)), high};
}

void turn_hue(uint8_t* r, uint8_t* g, uint8_t* b, std::size_t n, int shift) {
  for (std::size_t i = 0; i < n; ++i) {
    const Hsv from = to_hsv(r[i], g[i], b[i]);
    if (from.s == 0) {
      r[i] = g[i] = b[i] = static_cast<uint8_t>(from.v);
      continue;
    }
    const int h = (from.h + shift) & 255;
    const float f = kHsv.fraction[h];
    const float s = kHsv.saturation[from.s];
    const double v = from.v;
    const uint8_t top = static_cast<uint8_t>(from.v);
    const uint8_t p = static_cast<uint8_t>(v * (1.0 - s) + 0.5);
    const uint8_t q = static_cast<uint8_t>(v * (1.0 - s * f) + 0.5);
    const uint8_t t = static_cast<uint8_t>(v * (1.0 - s * (1.0 - f)) + 0.5);
    switch (h * 6 / 255 % 6) {
      case 0:
        r[i] = top, g[i] = t, b[i] = p;
        break;
      case 1:
        r[i] = q, g[i] = top, b[i] = p;
        break;
      case 2:
        r[i] = p, g[i] = top, b[i] = t;
        break;
      case 3:
        r[i] = p, g[i] = q, b[i] = top;
        break;
      case 4:
        r[i] = t, g[i] = p, b[i] = top;
        break;
      default:
        r[i] = top, g[i] = p, b[i] = q;
    }
  }
}

void luma(const uint8_t* r, const uint8_t* g, const uint8_t* b, std::size_t n, uint8_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = luma_of(r[i], g[i], b[i]);
}

uint64_t luma_sum(const uint8_t* r, const uint8_t* g, const uint8_t* b, std::size_t n) {
  uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += luma_of(r[i], g[i], b[i]);
  return sum;
}

void solarize(uint8_t* x, std::size_t n, int threshold) {
  for (std::size_t i = 0; i < n; ++i) x[i] = x[i] >= threshold ? 255 - x[i] : x[i];
}

void normalize(const uint8_t* x, std::size_t n, float scale, float shift, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = scale * static_cast<float>(x[i]) - shift;
}

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kPortable = {"portable", resample, transpose, transpose_rgb,
                                        box_filter, blend,    saturate,  turn_hue,
                                        luma,       luma_sum, solarize,  normalize};
  return kPortable;
}

}  // namespace gh::host
