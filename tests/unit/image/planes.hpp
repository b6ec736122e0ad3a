// Pictures of the parity vectors ([h, w, 3] uint8 tensors) as the image room takes them.
#pragma once

#include "image/image.hpp"
#include "image/kernels.hpp"
#include "image/resample.hpp"

#include "gh/tensor.hpp"

#include <ATen/ops/from_blob.h>

#include <vector>

namespace gh::test {

inline host::PlanarImage planes(const at::Tensor& hwc) {
  const at::Tensor chw = hwc.permute({2, 0, 1}).contiguous();
  host::PlanarImage out;
  out.resize(static_cast<int>(hwc.size(0)), static_cast<int>(hwc.size(1)));
  std::copy_n(chw.data_ptr<uint8_t>(), chw.numel(), out.pixels.begin());
  out.pixels.resize(out.pixels.size() + host::kBlock);
  return out;
}

inline at::Tensor tensor(host::PlanarImage image) {
  return at::from_blob(image.pixels.data(), {3, image.height, image.width}, at::kByte)
      .permute({1, 2, 0})
      .clone();
}

// Memory for host::Columns.
class ColumnImage {
 public:
  explicit ColumnImage(const at::Tensor& hwc)
      : chw_(hwc.permute({2, 1, 0}).contiguous()), bytes_(chw_.numel() + host::kBlock) {
    std::copy_n(chw_.data_ptr<uint8_t>(), chw_.numel(), bytes_.begin());
    columns.height = static_cast<int>(hwc.size(0));
    columns.width = static_cast<int>(hwc.size(1));
    columns.stride = columns.height;
    for (int c = 0; c < 3; ++c)
      columns.plane[c] = bytes_.data() + c * columns.height * columns.width;
  }
  host::Columns columns;

 private:
  at::Tensor chw_;
  std::vector<uint8_t> bytes_;
};

}  // namespace gh::test
