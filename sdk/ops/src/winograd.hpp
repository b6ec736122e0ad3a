// Winograd's convolution (3×3, stride 1 or 2) of float32 images: output, gradient of the data,
// gradient of the weights. Raw arrays; gh/ops/convolution.hpp is the operator. The number of
// threads changes no bit of a result.
#pragma once

#include "winograd_kernels.hpp"

#include <ATen/core/Tensor.h>

namespace gh {
inline namespace v1 {

// The convolution forwards. Weights are [out][3][3][in] everywhere.
struct WinogradShape {
  int64_t images, in, out;
  int64_t height, width;  // of the data
  int64_t stride;         // that of the kernels
  int64_t padding;        // 0 … 2 with stride 1, 1 with stride 2
  bool channels_last;     // data and output: [N][H][W][C], otherwise [N][C][H][W]

  int64_t out_height() const { return (height + 2 * padding - 3) / stride + 1; }
  int64_t out_width() const { return (width + 2 * padding - 3) / stride + 1; }
};

// From data to output, or from the gradient of the output to that of the data.
enum class Way { forward, backward };

class Winograd {
 public:
  Winograd(const WinogradKernels& kernels, const WinogradShape& shape)
      : kernels_(kernels), shape_(shape) {}

  void convolve(const float* from, const float* weights, float* to, Way way) const;
  void weight_gradient(const float* data, const float* gradient, float* weights) const;

 private:
  const WinogradKernels& kernels_;
  WinogradShape shape_;
};

}  // namespace v1
}  // namespace gh
