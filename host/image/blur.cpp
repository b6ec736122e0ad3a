#include "image/blur.hpp"

#include "image/kernels.hpp"

#include <cmath>
#include <cstring>
#include <utility>

namespace gh::host {
namespace {

constexpr int kPasses = 3;

struct BoxFilter {
  int radius;
  uint32_t inner, outer;  // weights in 24 fractional bits
};

// Gwosdek et al. 2011, equations 7, 11 and 14. Single precision where Pillow has it: at sigma 1 it
// decides about half of all values.
BoxFilter box_for(double sigma) {
  const float given = static_cast<float>(sigma);
  const float variance = given * given / kPasses;
  const float length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const float whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  const float radius = whole + part;
  BoxFilter box{};
  box.radius = static_cast<int>(radius);
  box.inner = static_cast<uint32_t>(static_cast<float>(1u << 24) / (radius * 2 + 1));
  box.outer = ((1u << 24) - (static_cast<uint32_t>(box.radius) * 2 + 1) * box.inner) / 2;
  return box;
}

}  // namespace

void GaussianBlur::run(PlanarImage& image, double sigma) {
  if (sigma <= 0) return;
  const BoxFilter box = box_for(sigma);
  const int h = image.height, w = image.width;
  const int row_stride = round_up_to_block(w), column_stride = round_up_to_block(h);
  const std::size_t bytes = static_cast<std::size_t>(row_stride) * column_stride + kBlock;
  a_.resize(bytes);
  b_.resize(bytes);
  uint8_t *from = a_.data(), *to = b_.data();
  const Kernels& k = kernels();
  const auto filter = [&](int rows, int stride, int n) {
    for (int pass = 0; pass < kPasses; ++pass) {
      k.box_filter(from, stride, rows, box.radius, box.inner, box.outer, to, stride, n);
      std::swap(from, to);
    }
  };
  for (int c = 0; c < 3; ++c) {
    k.transpose(image.plane(c), w, h, w, from, column_stride);
    filter(w, column_stride, h);
    k.transpose(from, column_stride, w, h, to, row_stride);
    std::swap(from, to);
    filter(h, row_stride, w);
    for (int y = 0; y < h; ++y) std::memcpy(image.plane(c) + y * w, from + y * row_stride, w);
  }
}

}  // namespace gh::host
