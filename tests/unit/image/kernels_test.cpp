// The vectorised kernels against the plain ones, and the plain ones against formulas.
#include "image/kernels.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace {

using namespace gh::host;
using Bytes = std::vector<uint8_t>;

Bytes noise(std::size_t n, uint32_t seed) {
  std::mt19937 generator(seed);
  Bytes out(n);
  for (uint8_t& x : out) x = static_cast<uint8_t>(generator());
  return out;
}

// Every pair of sets of kernels to compare; one pair where there is no AVX2.
const Kernels& fast() { return avx2_kernels() ? *avx2_kernels() : portable_kernels(); }
const Kernels& plain() { return portable_kernels(); }

// Pillow's conversion to HSV and back with a turned hue, written as it is there.
void turn_hue_by_the_book(uint8_t& red, uint8_t& green, uint8_t& blue, int shift) {
  const int r = red, g = green, b = blue;
  const int high = std::max({r, g, b}), low = std::min({r, g, b});
  int uh = 0, us = 0;
  if (high != low) {
    const float range = static_cast<float>(high - low);
    const float s = range / static_cast<float>(high);
    const float rc = static_cast<float>(high - r) / range;
    const float gc = static_cast<float>(high - g) / range;
    const float bc = static_cast<float>(high - b) / range;
    float h;
    if (r == high)
      h = bc - gc;
    else if (g == high)
      h = static_cast<float>(2.0 + rc - bc);
    else
      h = static_cast<float>(4.0 + gc - rc);
    h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
    uh = std::clamp(static_cast<int>(h * 255.0), 0, 255);
    us = std::clamp(static_cast<int>(s * 255.0), 0, 255);
  }
  uh = (uh + shift) & 255;
  if (us == 0) {
    red = green = blue = static_cast<uint8_t>(high);
    return;
  }
  const int i = static_cast<int>(std::floor(static_cast<float>(uh) * 6.0 / 255.0));
  const float f = static_cast<float>(static_cast<float>(uh) * 6.0 / 255.0 - static_cast<float>(i));
  const float fs = static_cast<float>(static_cast<float>(us) / 255.0);
  const float v = static_cast<float>(high);
  const auto byte = [](double x) { return static_cast<uint8_t>(std::round(x)); };
  const uint8_t p = byte(v * (1.0 - fs)), q = byte(v * (1.0 - fs * f)),
                t = byte(v * (1.0 - fs * (1.0 - f))), top = static_cast<uint8_t>(high);
  const uint8_t table[6][3] = {{top, t, p}, {q, top, p}, {p, top, t},
                               {p, q, top}, {t, p, top}, {top, p, q}};
  red = table[i % 6][0], green = table[i % 6][1], blue = table[i % 6][2];
}

TEST_CASE("turning the hue of every colour equals Pillow's arithmetic") {
  Bytes r(65536), g(65536), b(65536);
  int64_t wrong = 0;
  for (int red = 0; red < 256; ++red) {
    for (int i = 0; i < 65536; ++i) {
      r[i] = static_cast<uint8_t>(red);
      g[i] = static_cast<uint8_t>(i >> 8);
      b[i] = static_cast<uint8_t>(i);
    }
    const int shift = red * 37 & 255;  // every shift somewhere
    Bytes r1 = r, g1 = g, b1 = b, r2 = r, g2 = g, b2 = b;
    fast().turn_hue(r1.data(), g1.data(), b1.data(), r1.size(), shift);
    plain().turn_hue(r2.data(), g2.data(), b2.data(), r2.size(), shift);
    for (int i = 0; i < 65536; ++i) {
      turn_hue_by_the_book(r[i], g[i], b[i], shift);
      wrong += r[i] != r1[i] || g[i] != g1[i] || b[i] != b1[i];
      wrong += r[i] != r2[i] || g[i] != g2[i] || b[i] != b2[i];
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("colour kernels give the same bytes on every processor") {
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{7}, std::size_t{1024}, std::size_t{1031}}) {
    const Bytes r = noise(n, 1), g = noise(n, 2), b = noise(n, 3);
    Bytes y1(n), y2(n);
    fast().luma(r.data(), g.data(), b.data(), n, y1.data());
    plain().luma(r.data(), g.data(), b.data(), n, y2.data());
    CHECK(y1 == y2);
    CHECK(fast().luma_sum(r.data(), g.data(), b.data(), n) ==
          plain().luma_sum(r.data(), g.data(), b.data(), n));
    for (const float factor : {0.0f, 0.37f, 1.0f, 1.4f, 3.3f, -0.5f}) {
      Bytes a = r, c = r;
      fast().blend(a.data(), n, 97, factor);
      plain().blend(c.data(), n, 97, factor);
      CHECK(a == c);
      Bytes r1 = r, g1 = g, b1 = b, r2 = r, g2 = g, b2 = b;
      fast().saturate(r1.data(), g1.data(), b1.data(), n, factor);
      plain().saturate(r2.data(), g2.data(), b2.data(), n, factor);
      CHECK((r1 == r2 && g1 == g2 && b1 == b2));
    }
    for (const int threshold : {0, 1, 128, 255, 256}) {
      Bytes a = r, c = r;
      fast().solarize(a.data(), n, threshold);
      plain().solarize(c.data(), n, threshold);
      CHECK(a == c);
    }
    std::vector<float> f1(n), f2(n);
    fast().normalize(r.data(), n, 0.0171f, 2.1f, f1.data());
    plain().normalize(r.data(), n, 0.0171f, 2.1f, f2.data());
    CHECK(f1 == f2);
  }
}

TEST_CASE("filters over rows give the same bytes on every processor") {
  constexpr int kRows = 37, kColumns = 90, kStride = 96;
  const Bytes in = noise(kRows * kStride + kBlock, 4);
  // Weights as a bicubic filter has them: some negative, odd and even counts.
  std::vector<int32_t> low(8), high(8);
  std::vector<Taps> taps;
  for (int count = 1; count <= 8; ++count) {
    std::fill(low.begin(), low.end(), 0);
    std::fill(high.begin(), high.end(), 0);
    int32_t left = 1 << 22;
    for (int k = 0; k < count; ++k) {
      const int32_t w = k + 1 == count ? left : (k % 3 == 0 ? -40'001 - k : 900'017 + 3 * k);
      left -= w;
      low[k / 2] |= (w & 0x7fff) << (k % 2 * 16);
      high[k / 2] |=
          static_cast<int32_t>((static_cast<uint32_t>(w >> 15) & 0xffff) << (k % 2 * 16));
    }
    const Taps one{5, count, low.data(), high.data()};
    Bytes a(kStride + kBlock), b(kStride + kBlock);
    fast().resample(in.data(), kStride, &one, 1, a.data(), kStride, kColumns);
    plain().resample(in.data(), kStride, &one, 1, b.data(), kStride, kColumns);
    CHECK(std::equal(a.begin(), a.begin() + kColumns, b.begin()));
  }
  for (int radius = 0; radius < 40; radius += radius < 3 ? 1 : 17) {
    const uint32_t inner = static_cast<uint32_t>((1 << 24) / (2 * (radius + 0.37) + 1));
    const uint32_t outer = ((1u << 24) - (2 * radius + 1) * inner) / 2;
    Bytes a(in.size()), b(in.size());
    fast().box_filter(in.data(), kStride, kRows, radius, inner, outer, a.data(), kStride, kColumns);
    plain().box_filter(in.data(), kStride, kRows, radius, inner, outer, b.data(), kStride,
                       kColumns);
    for (int y = 0; y < kRows; ++y)
      CHECK(std::equal(a.begin() + y * kStride, a.begin() + y * kStride + kColumns,
                       b.begin() + y * kStride));
  }
}

TEST_CASE("transposing moves every byte to its place") {
  for (const auto& [rows, columns] : {std::pair{32, 32}, {17, 50}, {3, 5}, {64, 16}}) {
    const Bytes in = noise(rows * columns * 3 + kBlock, 5);
    for (const Kernels* k : {&fast(), &plain()}) {
      Bytes out(rows * columns, 0);
      k->transpose(in.data(), columns, rows, columns, out.data(), rows);
      int wrong = 0;
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) wrong += out[x * rows + y] != in[y * columns + x];
      Bytes planes(3 * rows * columns, 0);
      uint8_t* const to[3] = {planes.data(), planes.data() + rows * columns,
                              planes.data() + 2 * rows * columns};
      k->transpose_rgb(in.data(), 3 * columns, rows, columns, to, rows);
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x)
          for (int c = 0; c < 3; ++c) wrong += to[c][x * rows + y] != in[(y * columns + x) * 3 + c];
      CHECK(wrong == 0);
    }
  }
}

}  // namespace
