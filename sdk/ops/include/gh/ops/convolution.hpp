// Two-dimensional convolution for training on the CPU.
//
//   y = gh::ops::convolution(x, weight, bias, {.stride = 1, .padding = 1}, ConvolutionMode::fast);
//
// 3×3 kernels of stride 1 and 2 go through Winograd's algorithm and 1×1 kernels through a product
// of matrices where the mode and the processor (AVX2 with FMA, or AVX-512) allow it, everything
// else through LibTorch. Both directions: gradients of data and weights use the same algorithm. Any
// thread; calls may overlap. The number of threads changes no bit of a result.
#pragma once

#include "gh/export.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <string_view>

namespace gh {
inline namespace v1 {
namespace ops {

// Values are frozen; new ones are appended.
enum class ConvolutionMode : int {
  automatic = 0,  // like fast where that is quicker, by shape
  fast = 1,   // F(4×4) for every 3×3 kernel of stride 1, its like for stride 2, padding 1, and a
              // product of matrices for every 1×1 kernel without padding
  exact = 2,  // F(2×2) for stride 1: slower, with an error like LibTorch's or smaller
  onednn = 3  // LibTorch's own
};

// "auto", "fast", "exact" or "onednn"; ErrorCode::invalid_param for anything else.
GH_API ConvolutionMode convolution_mode(std::string_view name);

struct ConvolutionArguments {
  int64_t stride = 1;
  // Zeros on every side.
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
};

// x [N,C,H,W], weight [K,C/groups,h,w], bias [K] or undefined → [N,K,H',W'] in x's memory format.
// Ours take float32; other types, devices and autocast go to LibTorch. Can be differentiated twice.
// ErrorCode::shape and ErrorCode::invalid_param name the argument that is wrong.
GH_API at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                              const ConvolutionArguments& arguments,
                              ConvolutionMode mode = ConvolutionMode::automatic);

// Values are frozen; new ones are appended.
enum class ConvolutionAlgorithm : int {
  libtorch = 0,
  winograd_2 = 1,         // F(2×2, 3×3)
  winograd_4 = 2,         // F(4×4, 3×3)
  winograd_stride_2 = 3,  // F(4×4, 2×2) of odd and even rows and columns
  pointwise = 4           // 1×1 without padding, as a product of matrices
};

// What convolution() uses for these, here and now.
GH_API ConvolutionAlgorithm algorithm_for(const at::Tensor& x, const at::Tensor& weight,
                                          const ConvolutionArguments& arguments,
                                          ConvolutionMode mode);

// "avx512", "avx2", or "" where this processor has no kernels of ours.
GH_API std::string_view winograd_instructions();

}  // namespace ops
}  // namespace v1
}  // namespace gh
