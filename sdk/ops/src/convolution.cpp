#include "gh/ops/convolution.hpp"

#include "winograd.hpp"

#include "gh/error.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <tuple>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

// Null for LibTorch's own, and where this processor has none.
const WinogradKernels* kernels(ConvolutionAlgorithm algorithm) {
  if (algorithm == ConvolutionAlgorithm::libtorch) return nullptr;
  const WinogradKind kind = algorithm == ConvolutionAlgorithm::winograd_4 ? WinogradKind::tile_4
                            : algorithm == ConvolutionAlgorithm::winograd_2
                                ? WinogradKind::tile_2
                                : WinogradKind::stride_2;
  const WinogradKernels* const wide = avx512_winograd(kind);
  return wide ? wide : avx2_winograd(kind);
}

at::MemoryFormat format_of(const at::Tensor& x) {
  return !x.is_contiguous() && x.is_contiguous(at::MemoryFormat::ChannelsLast)
             ? at::MemoryFormat::ChannelsLast
             : at::MemoryFormat::Contiguous;
}

// Weights as [out][3][3][in].
at::Tensor taps_first(const at::Tensor& weight) {
  return weight.contiguous(at::MemoryFormat::ChannelsLast);
}

WinogradShape shape_of(const at::Tensor& x, const at::Tensor& weight, int64_t stride,
                       int64_t padding) {
  return {.images = x.size(0),
          .in = x.size(1),
          .out = weight.size(0),
          .height = x.size(2),
          .width = x.size(3),
          .stride = stride,
          .padding = padding,
          .channels_last = format_of(x) == at::MemoryFormat::ChannelsLast};
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct WinogradFunction final : torch::autograd::Function<WinogradFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const at::Tensor& weight, int64_t padding, int64_t algorithm) {
    const at::MemoryFormat format = format_of(given);
    const at::Tensor x = given.contiguous(format);
    const WinogradKernels& loops = *kernels(static_cast<ConvolutionAlgorithm>(algorithm));
    const WinogradShape shape = shape_of(x, weight, loops.stride, padding);
    const at::Tensor y = at::empty({shape.images, shape.out, shape.out_height(), shape.out_width()},
                                   x.options(), format);
    Winograd(loops, shape)
        .convolve(x.const_data_ptr<float>(), taps_first(weight).const_data_ptr<float>(),
                  y.data_ptr<float>(), Way::forward);
    // Not the contiguous copy, which has no history: the gradient may be differentiated.
    context->save_for_backward({given, weight});
    context->saved_data["padding"] = padding;
    context->saved_data["algorithm"] = algorithm;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& weight = saved[1];
    const int64_t padding = context->saved_data["padding"].toInt();
    const WinogradKernels& loops =
        *kernels(static_cast<ConvolutionAlgorithm>(context->saved_data["algorithm"].toInt()));
    const int64_t stride = loops.stride;
    const bool data = context->needs_input_grad(0), weights = context->needs_input_grad(1);
    variable_list out(4);
    if (at::GradMode::is_enabled()) {  // the gradient is to be differentiated
      std::tie(out[0], out[1], std::ignore) = at::convolution_backward(
          gradients[0], saved[0], weight, {}, {stride, stride}, {padding, padding}, {1, 1},
          /*transposed=*/false, {0, 0}, /*groups=*/1, {data, weights, false});
      return out;
    }
    const at::MemoryFormat format = format_of(saved[0]);
    const at::Tensor x = saved[0].contiguous(format), dy = gradients[0].contiguous(format);
    const Winograd winograd(loops, shape_of(x, weight, stride, padding));
    if (data) {
      out[0] = at::empty(x.sizes(), x.options(), format);
      winograd.convolve(dy.const_data_ptr<float>(), taps_first(weight).const_data_ptr<float>(),
                        out[0].data_ptr<float>(), Way::backward);
    }
    if (weights) {
      out[1] = at::empty(weight.sizes(), weight.options(), at::MemoryFormat::ChannelsLast);
      winograd.weight_gradient(x.const_data_ptr<float>(), dy.const_data_ptr<float>(),
                               out[1].data_ptr<float>());
      out[1] = out[1].contiguous(format_of(weight));
    }
    return out;
  }
};

void check(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
           const ConvolutionArguments& a) {
  require(x.defined() && x.dim() == 4, ErrorCode::shape, "x must be [N,C,H,W], got ",
          x.defined() ? x.sizes() : at::IntArrayRef());
  require(weight.defined() && weight.dim() == 4 && weight.numel() > 0, ErrorCode::shape,
          "weight must be [K,C/groups,h,w] and not empty, got ",
          weight.defined() ? weight.sizes() : at::IntArrayRef());
  require(a.stride >= 1, ErrorCode::invalid_param, "stride must be at least 1, got ", a.stride);
  require(a.padding >= 0, ErrorCode::invalid_param, "padding must not be negative, got ",
          a.padding);
  require(a.dilation >= 1, ErrorCode::invalid_param, "dilation must be at least 1, got ",
          a.dilation);
  require(a.groups >= 1 && weight.size(0) % a.groups == 0, ErrorCode::invalid_param,
          "groups must divide the ", weight.size(0), " outputs of weight, got ", a.groups);
  require(x.size(1) == weight.size(1) * a.groups, ErrorCode::shape, "x has ", x.size(1),
          " channels, weight ", weight.sizes(), " in ", a.groups, " groups takes ",
          weight.size(1) * a.groups);
  require(x.scalar_type() == weight.scalar_type() || at::autocast::is_autocast_enabled(at::kCPU) ||
              at::autocast::is_autocast_enabled(at::kCUDA),
          ErrorCode::shape, "weight must be ", x.scalar_type(), " as x, got ",
          weight.scalar_type());
  if (bias.defined()) {
    require(bias.dim() == 1 && bias.size(0) == weight.size(0), ErrorCode::shape, "bias must be [",
            weight.size(0), "], got ", bias.sizes());
    require(bias.scalar_type() == weight.scalar_type(), ErrorCode::shape, "bias must be ",
            weight.scalar_type(), " as weight, got ", bias.scalar_type());
  }
  for (int64_t d = 2; d < 4; ++d)
    require(x.size(d) + 2 * a.padding > a.dilation * (weight.size(d) - 1), ErrorCode::shape, "x ",
            x.sizes(), " with padding ", a.padding, " is smaller than weight ", weight.sizes(),
            " with dilation ", a.dilation);
}

// Whether one of Winograd's algorithms can compute it at all.
bool possible(const at::Tensor& x, const at::Tensor& weight, const ConvolutionArguments& a) {
  const auto plain = [](const at::Tensor& t) {
    return t.device().is_cpu() && t.scalar_type() == at::kFloat && t.layout() == at::kStrided &&
           !t.is_neg() && !t.is_conj();
  };
  return plain(x) && plain(weight) && x.numel() > 0 && weight.size(2) == 3 && weight.size(3) == 3 &&
         a.dilation == 1 && a.groups == 1 &&
         (a.stride == 1 ? a.padding <= 2 : a.stride == 2 && a.padding == 1) &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

// Where Winograd's algorithms were measured to be quicker than LibTorch (bench/convolution.py
// --sweep): panels of 16 channels and tiles of 4×4 outputs must not be mostly filling, and there
// must be so many tiles that transforming the weights does not count. There is less to win with
// stride 2.
bool quicker(const WinogradShape& s) {
  const auto up = [](int64_t n, int64_t step) { return (n + step - 1) / step * step; };
  const auto share = [&](int64_t a, int64_t b, int64_t step) {
    return static_cast<double>(a * b) / static_cast<double>(up(a, step) * up(b, step));
  };
  const int64_t height = s.out_height(), width = s.out_width();
  const int64_t tiles = s.images * up(height, 4) * up(width, 4) / 16;
  const double used = share(height, width, 4);
  if (s.in < 16 || s.out < 16) return false;
  if (s.stride == 1) return used >= 0.5 && tiles >= 8;
  return share(s.in, s.out, 16) >= 0.75 && used >= 0.75 && tiles >= (used > 0.9 ? 32 : 100);
}

}  // namespace

ConvolutionMode convolution_mode(std::string_view name) {
  if (name == "auto") return ConvolutionMode::automatic;
  if (name == "fast") return ConvolutionMode::fast;
  if (name == "exact") return ConvolutionMode::exact;
  require(name == "onednn", ErrorCode::invalid_param,
          "a convolution mode is \"auto\", \"fast\", \"exact\" or \"onednn\", got \"", name, "\"");
  return ConvolutionMode::onednn;
}

ConvolutionAlgorithm algorithm_for(const at::Tensor& x, const at::Tensor& weight,
                                   const ConvolutionArguments& arguments, ConvolutionMode mode) {
  check(x, weight, {}, arguments);
  using enum ConvolutionAlgorithm;
  const auto [stride, padding, dilation, groups] = arguments;
  if (mode == ConvolutionMode::onednn || !possible(x, weight, arguments)) return libtorch;
  if (mode == ConvolutionMode::exact && stride == 2) return libtorch;
  if (mode == ConvolutionMode::automatic && !quicker(shape_of(x, weight, stride, padding)))
    return libtorch;
  const ConvolutionAlgorithm out = stride == 2                      ? winograd_stride_2
                                   : mode == ConvolutionMode::exact ? winograd_2
                                                                    : winograd_4;
  return kernels(out) ? out : libtorch;
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       const ConvolutionArguments& arguments, ConvolutionMode mode) {
  check(x, weight, bias, arguments);
  const ConvolutionAlgorithm algorithm = algorithm_for(x, weight, arguments, mode);
  if (algorithm == ConvolutionAlgorithm::libtorch)
    return at::conv2d(x, weight, bias, arguments.stride, arguments.padding, arguments.dilation,
                      arguments.groups);
  const at::Tensor y =
      WinogradFunction::apply(x, weight, arguments.padding, static_cast<int64_t>(algorithm));
  return bias.defined() ? y + bias.view({1, -1, 1, 1}) : y;
}

std::string_view winograd_instructions() {
  constexpr WinogradKind kAny = WinogradKind::tile_4;
  return avx512_winograd(kAny) ? "avx512" : avx2_winograd(kAny) ? "avx2" : "";
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
