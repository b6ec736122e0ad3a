// The kernels for AVX2. Compiled with -mavx2: nothing but raw loops in here, because an inline
// function of the standard library compiled here could be the one that the linker keeps.
#include "image/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

namespace gh::host {
namespace {

__m256i load(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
void store(uint8_t* p, __m256i x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }

// Eight bytes as eight 32-bit integers, and back with saturation.
__m256i load8(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
void store8(uint8_t* p, __m256i x) {
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
}

// Runs `body(i)` for every eight pixels; what is left over goes through `rest` in plain code.
template <class Body, class Rest>
inline void by_eight(std::size_t n, Body body, Rest rest) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) body(i);
  if (i < n) rest(i, n - i);
}

// ---- filters over rows ----

// Four vectors of eight sums: pixels 0–3 and 16–19, 4–7 and 20–23, 8–11 and 24–27, 12–15 and 28–31,
// which is the order in which the 128-bit halves unpack and pack again.
struct Sums {
  __m256i part[4];
};

// Interleaves two rows of 32 bytes into 16-bit pairs.
Sums pairs(__m256i a, __m256i b) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
  return {{_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
           _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)}};
}

void resample(const uint8_t* in, std::ptrdiff_t in_stride, const Taps* taps, int rows, uint8_t* out,
              std::ptrdiff_t out_stride, int n) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i half = _mm256_set1_epi32(1 << 21);
  for (int j = 0; j < rows; ++j, out += out_stride) {
    const uint8_t* first = in + taps[j].first * in_stride;
    const int count = taps[j].count;
    for (int block = 0; block < n; block += kBlock) {
      Sums low = {{half, half, half, half}}, high = {{zero, zero, zero, zero}};
      const uint8_t* row = first + block;
      for (int k = 0; k < count; k += 2, row += 2 * in_stride) {
        // The partner of an odd last row has weight zero; any readable row will do.
        const __m256i other = load(k + 1 < count ? row + in_stride : row);
        const Sums x = pairs(load(row), other);
        const __m256i w_low = _mm256_set1_epi32(taps[j].low[k / 2]);
        const __m256i w_high = _mm256_set1_epi32(taps[j].high[k / 2]);
        for (int p = 0; p < 4; ++p) {
          low.part[p] = _mm256_add_epi32(low.part[p], _mm256_madd_epi16(x.part[p], w_low));
          high.part[p] = _mm256_add_epi32(high.part[p], _mm256_madd_epi16(x.part[p], w_high));
        }
      }
      for (int p = 0; p < 4; ++p)
        low.part[p] = _mm256_srai_epi32(
            _mm256_add_epi32(low.part[p], _mm256_slli_epi32(high.part[p], 15)), 22);
      // Values lie within 16 bits, so that the signed pack saturates nothing that counts.
      store(out + block, _mm256_packus_epi16(_mm256_packs_epi32(low.part[0], low.part[1]),
                                             _mm256_packs_epi32(low.part[2], low.part[3])));
    }
  }
}

void box_filter(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int radius, uint32_t inner,
                uint32_t outer, uint8_t* out, std::ptrdiff_t out_stride, int n) {
  const auto row = [&](int y) { return in + (y < 0 ? 0 : y >= rows ? rows - 1 : y) * in_stride; };
  const __m256i zero = _mm256_setzero_si256();
  const __m256i half = _mm256_set1_epi32(1 << 23);
  const auto both = [](uint32_t a, uint32_t b) {
    return _mm256_set1_epi32(static_cast<int>(a | b << 16));
  };
  const __m256i w_low = both(inner & 0x7fff, outer & 0x7fff);
  const __m256i w_high = both(inner >> 15, outer >> 15);
  for (int y = 0; y < rows; ++y, out += out_stride) {
    for (int block = 0; block < n; block += kBlock) {
      __m256i sum[2] = {zero, zero}, ends[2] = {zero, zero};
      const auto add = [&](__m256i* to, int from) {
        const __m256i x = load(row(from) + block);
        to[0] = _mm256_add_epi16(to[0], _mm256_unpacklo_epi8(x, zero));
        to[1] = _mm256_add_epi16(to[1], _mm256_unpackhi_epi8(x, zero));
      };
      for (int d = -radius; d <= radius; ++d) add(sum, y + d);
      add(ends, y - radius - 1);
      add(ends, y + radius + 1);
      __m256i words[2];
      for (int p = 0; p < 2; ++p) {
        const __m256i x[2] = {_mm256_unpacklo_epi16(sum[p], ends[p]),
                              _mm256_unpackhi_epi16(sum[p], ends[p])};
        __m256i value[2];
        for (int q = 0; q < 2; ++q) {
          const __m256i high = _mm256_slli_epi32(_mm256_madd_epi16(x[q], w_high), 15);
          const __m256i low = _mm256_add_epi32(_mm256_madd_epi16(x[q], w_low), half);
          value[q] = _mm256_srli_epi32(_mm256_add_epi32(high, low), 24);
        }
        words[p] = _mm256_packs_epi32(value[0], value[1]);
      }
      store(out + block, _mm256_packus_epi16(words[0], words[1]));
    }
  }
}

// ---- layout ----

void transpose_scalar(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int columns,
                      uint8_t* out, std::ptrdiff_t out_stride) {
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) out[x * out_stride + y] = in[y * in_stride + x];
}

// 16 rows of 16 bytes, in registers: four rounds of interleaving rows i and i + 8.
void transpose_16(__m128i (&r)[16]) {
  for (int round = 0; round < 4; ++round) {
    __m128i next[16];
    for (int i = 0; i < 8; ++i) {
      next[2 * i] = _mm_unpacklo_epi8(r[i], r[i + 8]);
      next[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + 8]);
    }
    for (int i = 0; i < 16; ++i) r[i] = next[i];
  }
}

void transpose(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int columns, uint8_t* out,
               std::ptrdiff_t out_stride) {
  const int whole_rows = rows / 16 * 16, whole_columns = columns / 16 * 16;
  for (int y = 0; y < whole_rows; y += 16) {
    for (int x = 0; x < whole_columns; x += 16) {
      __m128i r[16];
      for (int i = 0; i < 16; ++i)
        r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + (y + i) * in_stride + x));
      transpose_16(r);
      for (int i = 0; i < 16; ++i)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (x + i) * out_stride + y), r[i]);
    }
  }
  transpose_scalar(in + whole_columns, in_stride, whole_rows, columns - whole_columns,
                   out + whole_columns * out_stride, out_stride);
  transpose_scalar(in + whole_rows * in_stride, in_stride, rows - whole_rows, columns,
                   out + whole_rows, out_stride);
}

// 48 bytes of interleaved RGB as three vectors of 16.
void split_rgb(const uint8_t* p, __m128i& r, __m128i& g, __m128i& b) {
  const auto at = [&](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
  };
  const __m128i x0 = at(0), x1 = at(1), x2 = at(2);
  // Three rounds of interleaving halves 24 bytes apart put every third byte side by side.
  const __m128i a0 = _mm_unpacklo_epi8(x0, _mm_srli_si128(x1, 8));
  const __m128i a1 = _mm_unpacklo_epi8(_mm_srli_si128(x0, 8), x2);
  const __m128i a2 = _mm_unpacklo_epi8(x1, _mm_srli_si128(x2, 8));
  const __m128i b0 = _mm_unpacklo_epi8(a0, _mm_srli_si128(a1, 8));
  const __m128i b1 = _mm_unpacklo_epi8(_mm_srli_si128(a0, 8), a2);
  const __m128i b2 = _mm_unpacklo_epi8(a1, _mm_srli_si128(a2, 8));
  const __m128i c0 = _mm_unpacklo_epi8(b0, _mm_srli_si128(b1, 8));
  const __m128i c1 = _mm_unpacklo_epi8(_mm_srli_si128(b0, 8), b2);
  const __m128i c2 = _mm_unpacklo_epi8(b1, _mm_srli_si128(b2, 8));
  r = _mm_unpacklo_epi8(c0, _mm_srli_si128(c1, 8));
  g = _mm_unpacklo_epi8(_mm_srli_si128(c0, 8), c2);
  b = _mm_unpacklo_epi8(c1, _mm_srli_si128(c2, 8));
}

void transpose_rgb(const uint8_t* in, std::ptrdiff_t in_stride, int rows, int columns,
                   uint8_t* const out[3], std::ptrdiff_t out_stride) {
  const int whole_rows = rows / 16 * 16, whole_columns = columns / 16 * 16;
  for (int y = 0; y < whole_rows; y += 16) {
    for (int x = 0; x < whole_columns; x += 16) {
      __m128i channel[3][16];
      for (int i = 0; i < 16; ++i)
        split_rgb(in + (y + i) * in_stride + 3 * x, channel[0][i], channel[1][i], channel[2][i]);
      for (int c = 0; c < 3; ++c) {
        transpose_16(channel[c]);
        for (int i = 0; i < 16; ++i)
          _mm_storeu_si128(reinterpret_cast<__m128i*>(out[c] + (x + i) * out_stride + y),
                           channel[c][i]);
      }
    }
  }
  const auto rest = [&](int y0, int y1, int x0, int x1) {
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x)
        for (int c = 0; c < 3; ++c) out[c][x * out_stride + y] = in[y * in_stride + 3 * x + c];
  };
  rest(0, whole_rows, whole_columns, columns);
  rest(whole_rows, rows, 0, columns);
}

// ---- colour ----

__m256i blended(__m256i x, __m256i grey, __m256 factor) {
  const __m256 difference = _mm256_cvtepi32_ps(_mm256_sub_epi32(x, grey));
  return _mm256_cvttps_epi32(
      _mm256_add_ps(_mm256_cvtepi32_ps(grey), _mm256_mul_ps(factor, difference)));
}

void blend(uint8_t* x, std::size_t n, int grey, float factor) {
  const __m256i g = _mm256_set1_epi32(grey);
  const __m256 f = _mm256_set1_ps(factor);
  by_eight(
      n, [&](std::size_t i) { store8(x + i, blended(load8(x + i), g, f)); },
      [&](std::size_t i, std::size_t rest) {
        portable_kernels().blend(x + i, rest, grey, factor);
      });
}

// The weight of green does not fit 16 bits, so each half of it goes with one neighbour.
__m256i luma_of(__m256i r, __m256i g, __m256i b) {
  const __m256i rg = _mm256_or_si256(r, _mm256_slli_epi32(g, 16));
  const __m256i gb = _mm256_or_si256(g, _mm256_slli_epi32(b, 16));
  const __m256i sum =
      _mm256_add_epi32(_mm256_madd_epi16(rg, _mm256_set1_epi32(19595 | 19235 << 16)),
                       _mm256_madd_epi16(gb, _mm256_set1_epi32(19235 | 7471 << 16)));
  return _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(32768)), 16);
}

void saturate(uint8_t* r, uint8_t* g, uint8_t* b, std::size_t n, float factor) {
  const __m256 f = _mm256_set1_ps(factor);
  by_eight(
      n,
      [&](std::size_t i) {
        const __m256i x = load8(r + i), y = load8(g + i), z = load8(b + i);
        const __m256i grey = luma_of(x, y, z);
        store8(r + i, blended(x, grey, f));
        store8(g + i, blended(y, grey, f));
        store8(b + i, blended(z, grey, f));
      },
      [&](std::size_t i, std::size_t rest) {
        portable_kernels().saturate(r + i, g + i, b + i, rest, factor);
      });
}

void luma(const uint8_t* r, const uint8_t* g, const uint8_t* b, std::size_t n, uint8_t* out) {
  by_eight(
      n, [&](std::size_t i) { store8(out + i, luma_of(load8(r + i), load8(g + i), load8(b + i))); },
      [&](std::size_t i, std::size_t rest) {
        portable_kernels().luma(r + i, g + i, b + i, rest, out + i);
      });
}

uint64_t luma_sum(const uint8_t* r, const uint8_t* g, const uint8_t* b, std::size_t n) {
  uint64_t total = 0;
  // Sums of 32 bits hold eight million pixels of 255 and more.
  constexpr std::size_t kSpan = std::size_t{1} << 23;
  for (std::size_t begin = 0; begin < n; begin += kSpan) {
    const std::size_t span = n - begin < kSpan ? n - begin : kSpan;
    __m256i sum = _mm256_setzero_si256();
    by_eight(
        span,
        [&](std::size_t i) {
          i += begin;
          sum = _mm256_add_epi32(sum, luma_of(load8(r + i), load8(g + i), load8(b + i)));
        },
        [&](std::size_t i, std::size_t rest) {
          i += begin;
          total += portable_kernels().luma_sum(r + i, g + i, b + i, rest);
        });
    alignas(32) uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
    for (const uint32_t lane : lanes) total += lane;
  }
  return total;
}

__m256i select(__m256i mask, __m256i yes, __m256i no) { return _mm256_blendv_epi8(no, yes, mask); }
__m256 as_float(__m256i x) { return _mm256_cvtepi32_ps(x); }

struct Hsv {
  __m256i h, s, v;
};

// Single precision throughout: the test over all colours finds no difference from Pillow's mixture
// with double. (A product with 1/6 in place of the quotient would make some.)
Hsv to_hsv(__m256i r, __m256i g, __m256i b) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i high = _mm256_max_epi32(r, _mm256_max_epi32(g, b));
  const __m256i low = _mm256_min_epi32(r, _mm256_min_epi32(g, b));
  const __m256i range = _mm256_sub_epi32(high, low);
  const __m256i red = _mm256_cmpeq_epi32(r, high);
  const __m256i green = _mm256_andnot_si256(red, _mm256_cmpeq_epi32(g, high));
  // In sixths of a circle: red largest: bc − gc, green: 2 + rc − bc, blue: 4 + gc − rc, where xc is
  // (high − x) / range. The smallest channel's is 1, so that one quotient is left to compute.
  const __m256i base = select(red, _mm256_setzero_si256(),
                              select(green, _mm256_set1_epi32(2), _mm256_set1_epi32(4)));
  const __m256i plus = select(red, b, select(green, r, g));
  const __m256i minus = select(red, g, select(green, b, r));
  // base + 1 − quotient where it is set, else base − 1 + quotient
  const __m256i up = _mm256_cmpeq_epi32(plus, low);
  const __m256i middle = _mm256_sub_epi32(high, select(up, minus, plus));
  // Grey pixels divide by one instead of zero and come out as s = 0, which is all that counts.
  const __m256 quotient = _mm256_div_ps(as_float(middle), as_float(_mm256_max_epi32(range, one)));
  // The sign turns the quotient around; where it is set, up is −1.
  const __m256 sign = _mm256_and_ps(_mm256_castsi256_ps(up), _mm256_set1_ps(-0.0f));
  const __m256i whole = _mm256_sub_epi32(_mm256_sub_epi32(base, one), _mm256_add_epi32(up, up));
  const __m256 sixths = _mm256_add_ps(as_float(whole), _mm256_xor_ps(quotient, sign));
  const __m256 below = _mm256_cmp_ps(sixths, _mm256_setzero_ps(), _CMP_LT_OQ);
  const __m256 h = _mm256_add_ps(_mm256_div_ps(sixths, _mm256_set1_ps(6)),
                                 _mm256_and_ps(below, _mm256_set1_ps(1)));
  const __m256 s = _mm256_div_ps(as_float(range), as_float(_mm256_max_epi32(high, one)));
  const auto byte = [](__m256 x) {
    return _mm256_cvttps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(255)));
  };
  return {byte(h), byte(s), high};
}

void turn_hue(uint8_t* r, uint8_t* g, uint8_t* b, std::size_t n, int shift) {
  const __m256i turn = _mm256_set1_epi32(shift);
  const auto equals = [](__m256i x, int value) {
    return _mm256_cmpeq_epi32(x, _mm256_set1_epi32(value));
  };
  const auto either = [](__m256i x, __m256i y) { return _mm256_or_si256(x, y); };
  const auto body = [&](std::size_t i) {
    const auto [h0, s, v] = to_hsv(load8(r + i), load8(g + i), load8(b + i));
    const __m256i h = _mm256_and_si256(_mm256_add_epi32(h0, turn), _mm256_set1_epi32(255));
    // floor(6h / 255), with 6 the same as 0, and what is left of 6h.
    const __m256i six = _mm256_add_epi32(_mm256_slli_epi32(h, 2), _mm256_slli_epi32(h, 1));
    const __m256i sector = _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(six, _mm256_srli_epi32(six, 8)), _mm256_set1_epi32(1)),
        8);
    const __m256 f =
        as_float(_mm256_sub_epi32(six, _mm256_sub_epi32(_mm256_slli_epi32(sector, 8), sector)));
    // v − v·s·f/255², rounded. The product is below 2^24 and therefore exact.
    const __m256 vs = as_float(_mm256_madd_epi16(v, s));
    const auto lowered = [&v = v](__m256 product, float scale) {
      return _mm256_sub_epi32(
          v, _mm256_cvttps_epi32(_mm256_add_ps(_mm256_mul_ps(product, _mm256_set1_ps(scale)),
                                               _mm256_set1_ps(0.5f))));
    };
    const __m256i p = lowered(vs, 1.0f / 255);
    const __m256i q = lowered(_mm256_mul_ps(vs, f), 1.0f / 65025);
    const __m256i t =
        lowered(_mm256_mul_ps(vs, _mm256_sub_ps(_mm256_set1_ps(255), f)), 1.0f / 65025);
    const __m256i s1 = equals(sector, 1), s2 = equals(sector, 2), s3 = equals(sector, 3),
                  s4 = equals(sector, 4), s5 = equals(sector, 5);
    store8(r + i, select(either(s2, s3), p, select(s1, q, select(s4, t, v))));
    store8(g + i, select(either(s1, s2), v, select(s3, q, select(either(s4, s5), p, t))));
    store8(b + i, select(either(s3, s4), v, select(s2, t, select(s5, q, p))));
  };
  by_eight(n, body, [&](std::size_t i, std::size_t rest) {
    portable_kernels().turn_hue(r + i, g + i, b + i, rest, shift);
  });
}

void solarize(uint8_t* x, std::size_t n, int threshold) {
  const __m256i limit = _mm256_set1_epi32(threshold - 1);
  by_eight(
      n,
      [&](std::size_t i) {
        const __m256i value = load8(x + i);
        store8(x + i, select(_mm256_cmpgt_epi32(value, limit),
                             _mm256_sub_epi32(_mm256_set1_epi32(255), value), value));
      },
      [&](std::size_t i, std::size_t rest) {
        portable_kernels().solarize(x + i, rest, threshold);
      });
}

void normalize(const uint8_t* x, std::size_t n, float scale, float shift, float* out) {
  const __m256 a = _mm256_set1_ps(scale), b = _mm256_set1_ps(shift);
  by_eight(
      n,
      [&](std::size_t i) {
        _mm256_storeu_ps(out + i, _mm256_sub_ps(_mm256_mul_ps(a, as_float(load8(x + i))), b));
      },
      [&](std::size_t i, std::size_t rest) {
        portable_kernels().normalize(x + i, rest, scale, shift, out + i);
      });
}

}  // namespace

const Kernels* avx2_kernels() {
  static constexpr Kernels kAvx2 = {"avx2",     resample, transpose, transpose_rgb,
                                    box_filter, blend,    saturate,  turn_hue,
                                    luma,       luma_sum, solarize,  normalize};
  return __builtin_cpu_supports("avx2") ? &kAvx2 : nullptr;
}

}  // namespace gh::host

#else

namespace gh::host {
const Kernels* avx2_kernels() { return nullptr; }
}  // namespace gh::host

#endif
