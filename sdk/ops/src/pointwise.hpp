// 1×1 convolutions without padding of channels-last float32 images: output, gradient of the data,
// gradient of the weights. Raw arrays; gh/ops/convolution.hpp is the operator. The number of
// threads changes no bit of a result.
#pragma once

#include "pointwise_kernels.hpp"

namespace gh {
inline namespace v1 {

// The convolution forwards. Weights are [out][in] everywhere, data and output [N][H][W][C].
struct PointwiseShape {
  int64_t images, in, out;
  int64_t height, width;  // of the data
  int64_t stride;

  int64_t out_height() const { return (height - 1) / stride + 1; }
  int64_t out_width() const { return (width - 1) / stride + 1; }
  int64_t pixels() const { return images * out_height() * out_width(); }  // of the output
};

class Pointwise {
 public:
  Pointwise(const PointwiseKernels& kernels, const PointwiseShape& shape)
      : kernels_(kernels), shape_(shape) {}

  void output(const float* data, const float* weights, float* output) const;
  void data_gradient(const float* gradient, const float* weights, float* data) const;
  void weight_gradient(const float* data, const float* gradient, float* weights) const;

 private:
  const PointwiseKernels& kernels_;
  PointwiseShape shape_;
};

}  // namespace v1
}  // namespace gh
