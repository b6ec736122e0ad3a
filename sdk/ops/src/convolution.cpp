#include "gh/ops/convolution.hpp"

#include "pointwise.hpp"
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

// Null where this processor has none.
const WinogradKernels* winograd_kernels(ConvolutionAlgorithm algorithm) {
  const WinogradKind kind = algorithm == ConvolutionAlgorithm::winograd_4 ? WinogradKind::tile_4
                            : algorithm == ConvolutionAlgorithm::winograd_2
                                ? WinogradKind::tile_2
                                : WinogradKind::stride_2;
  const WinogradFamily* const family = chosen_kernels<WinogradFamily>().kernels;
  return family ? family->of(kind) : nullptr;
}

const PointwiseKernels* pointwise_kernels() { return chosen_kernels<PointwiseKernels>().kernels; }

bool has_kernels(ConvolutionAlgorithm algorithm) {
  return algorithm == ConvolutionAlgorithm::pointwise ? pointwise_kernels() != nullptr
                                                      : winograd_kernels(algorithm) != nullptr;
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

WinogradShape winograd_shape(const at::Tensor& x, const at::Tensor& weight, int64_t stride,
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

PointwiseShape pointwise_shape(const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
  return {.images = x.size(0),
          .in = x.size(1),
          .out = weight.size(0),
          .height = x.size(2),
          .width = x.size(3),
          .stride = stride};
}

// A convolution by one of our algorithms, on tensors of its memory format; weights are
// [K][h][w][C].
struct Own {
  ConvolutionAlgorithm algorithm;
  int64_t stride, padding;

  // That of x; only products of matrices need pixels.
  at::MemoryFormat format(const at::Tensor& x) const {
    return algorithm == ConvolutionAlgorithm::pointwise ? at::MemoryFormat::ChannelsLast
                                                        : format_of(x);
  }
  Winograd winograd(const at::Tensor& x, const at::Tensor& weight) const {
    return {*winograd_kernels(algorithm), winograd_shape(x, weight, stride, padding)};
  }
  Pointwise pointwise(const at::Tensor& x, const at::Tensor& weight) const {
    return {*pointwise_kernels(), pointwise_shape(x, weight, stride)};
  }

  at::Tensor output(const at::Tensor& x, const at::Tensor& weight) const {
    const auto size = [&](int64_t d) {
      return (x.size(d) + 2 * padding - weight.size(d)) / stride + 1;
    };
    const at::Tensor y =
        at::empty({x.size(0), weight.size(0), size(2), size(3)}, x.options(), format(x));
    convolve(x, weight, Way::forward, x, y);
    return y;
  }
  at::Tensor data_gradient(const at::Tensor& x, const at::Tensor& weight,
                           const at::Tensor& dy) const {
    const at::Tensor dx = at::empty(x.sizes(), x.options(), format(x));
    convolve(x, weight, Way::backward, dy, dx);
    return dx;
  }
  at::Tensor weight_gradient(const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& dy) const {
    const at::Tensor dw =
        at::empty(weight.sizes(), weight.options(), at::MemoryFormat::ChannelsLast);
    const float *const data = x.const_data_ptr<float>(), *const gradient =
                                                             dy.const_data_ptr<float>();
    if (algorithm == ConvolutionAlgorithm::pointwise)
      pointwise(x, weight).weight_gradient(data, gradient, dw.data_ptr<float>());
    else
      winograd(x, weight).weight_gradient(data, gradient, dw.data_ptr<float>());
    return dw;
  }

 private:
  // From the data to the output, or from the output's gradient to that of the data; x gives the
  // data's shape.
  void convolve(const at::Tensor& x, const at::Tensor& weight, Way way, const at::Tensor& from,
                const at::Tensor& to) const {
    const at::Tensor taps = taps_first(weight);
    const float *const in = from.const_data_ptr<float>(), *const w = taps.const_data_ptr<float>();
    float* const out = to.data_ptr<float>();
    if (algorithm != ConvolutionAlgorithm::pointwise)
      winograd(x, weight).convolve(in, w, out, way);
    else if (way == Way::forward)
      pointwise(x, weight).output(in, w, out);
    else
      pointwise(x, weight).data_gradient(in, w, out);
  }
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct OwnFunction final : torch::autograd::Function<OwnFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            int64_t stride, int64_t padding, int64_t algorithm) {
    const Own own{static_cast<ConvolutionAlgorithm>(algorithm), stride, padding};
    const at::Tensor y = own.output(x.contiguous(own.format(x)), weight);
    // Not the contiguous copy, which has no history: the gradient may be differentiated.
    context->save_for_backward({x, weight});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["algorithm"] = algorithm;
    return y.contiguous(format_of(x));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& weight = saved[1];
    const int64_t stride = context->saved_data["stride"].toInt();
    const int64_t padding = context->saved_data["padding"].toInt();
    const bool data = context->needs_input_grad(0), weights = context->needs_input_grad(1);
    variable_list out(5);
    if (at::GradMode::is_enabled()) {  // the gradient is to be differentiated
      std::tie(out[0], out[1], std::ignore) = at::convolution_backward(
          gradients[0], saved[0], weight, {}, {stride, stride}, {padding, padding}, {1, 1},
          /*transposed=*/false, {0, 0}, /*groups=*/1, {data, weights, false});
      return out;
    }
    const Own own{static_cast<ConvolutionAlgorithm>(context->saved_data["algorithm"].toInt()),
                  stride, padding};
    const at::MemoryFormat format = own.format(saved[0]);
    const at::Tensor x = saved[0].contiguous(format), dy = gradients[0].contiguous(format);
    if (data) out[0] = own.data_gradient(x, weight, dy).contiguous(format_of(saved[0]));
    if (weights) out[1] = own.weight_gradient(x, weight, dy).contiguous(format_of(weight));
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

// Whether one of our algorithms can compute it at all.
bool possible(const at::Tensor& x, const at::Tensor& weight, const ConvolutionArguments& a) {
  const auto plain = [](const at::Tensor& t) {
    return t.device().is_cpu() && t.scalar_type() == at::kFloat && t.layout() == at::kStrided &&
           !t.is_neg() && !t.is_conj();
  };
  const int64_t size = weight.size(2);
  const bool takes =
      size == 1 ? a.padding == 0
                : size == 3 && (a.stride == 1 ? a.padding <= 2 : a.stride == 2 && a.padding == 1);
  return plain(x) && plain(weight) && x.numel() > 0 && weight.size(3) == size && takes &&
         a.dilation == 1 && a.groups == 1 && !at::autocast::is_autocast_enabled(at::kCPU);
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
  return share(s.in, s.out, 16) >= 0.75 && used >= 0.75 && tiles >= 32;
}

// The same for products of matrices, which pixels are rows of only in one of the memory formats.
// LibTorch spends much of its time reordering weights where these are large and pixels few. With
// AVX-512 ours are quicker elsewhere, too, but for large weights and many pixels without a stride;
// with AVX2 that was not measured.
bool quicker(const PointwiseShape& s, at::MemoryFormat format) {
  if (format != at::MemoryFormat::ChannelsLast || s.in % 64 != 0 || s.out % 64 != 0 ||
      s.pixels() < 256)
    return false;
  if (chosen_kernels<PointwiseKernels>().set == KernelSet::avx512 &&
      (s.in * s.out <= 1 << 16 || s.pixels() <= 2048 || s.stride > 1))
    return true;
  return s.in * s.out >= 1 << 19 && s.pixels() <= (s.stride == 1 ? 512 : 2048);
}

// oneDNN 3.12's AVX-512 kernel for the weight gradient of a 1×1 convolution with a stride writes
// beyond its memory where pixels are rows of less than 16 channels: PyTorch 2.13 crashes, too.
bool crashes_onednn(const at::Tensor& x, const at::Tensor& weight, const ConvolutionArguments& a) {
  return weight.size(2) == 1 && a.stride > 1 && x.size(1) < 16 &&
         format_of(x) == at::MemoryFormat::ChannelsLast;
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
  if (possible(x, weight, arguments) && crashes_onednn(x, weight, arguments) &&
      has_kernels(pointwise))
    return pointwise;
  if (mode == ConvolutionMode::onednn || !possible(x, weight, arguments)) return libtorch;
  const bool one = weight.size(2) == 1;
  if (mode == ConvolutionMode::exact && (one || stride == 2)) return libtorch;
  if (mode == ConvolutionMode::automatic &&
      !(one ? quicker(pointwise_shape(x, weight, stride), format_of(x))
            : quicker(winograd_shape(x, weight, stride, padding))))
    return libtorch;
  const ConvolutionAlgorithm out = one                              ? pointwise
                                   : stride == 2                    ? winograd_stride_2
                                   : mode == ConvolutionMode::exact ? winograd_2
                                                                    : winograd_4;
  return has_kernels(out) ? out : libtorch;
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       const ConvolutionArguments& arguments, ConvolutionMode mode) {
  check(x, weight, bias, arguments);
  const ConvolutionAlgorithm algorithm = algorithm_for(x, weight, arguments, mode);
  if (algorithm == ConvolutionAlgorithm::libtorch)
    return at::conv2d(x, weight, bias, arguments.stride, arguments.padding, arguments.dilation,
                      arguments.groups);
  const at::Tensor y = OwnFunction::apply(x, weight, arguments.stride, arguments.padding,
                                          static_cast<int64_t>(algorithm));
  return bias.defined() ? y + bias.view({1, -1, 1, 1}) : y;
}

std::string_view winograd_instructions() {
  const ChosenKernels<WinogradFamily>& chosen = chosen_kernels<WinogradFamily>();
  return chosen.kernels ? name_of(chosen.set) : "";
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
