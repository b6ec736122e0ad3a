// Layers and the factory that backbones get them from. A method can hand a backbone its own factory
// (SDCLR: masked convolutions and doubled normalisation); the host hands it a faster one. A
// backbone asks for every layer with parameters here and builds none itself, so that both work
// inside any backbone.
#pragma once

#include "gh/module.hpp"
#include "gh/random.hpp"

#include <cstdint>
#include <memory>

namespace gh {
inline namespace v1 {

enum class Init : int {
  torch_default = 0,   // weights and bias uniform in ±1/√fan_in
  kaiming_fan_out = 1  // weights normal with variance 2/fan_out, bias zero
};

struct LinearSpec {
  int64_t in = 0;
  int64_t out = 0;
  bool bias = true;
  Init init = Init::torch_default;
};

struct ConvolutionSpec {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 1;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = false;
  Init init = Init::torch_default;
};

// Batch normalisation of [B,C] or [B,C,H,W], optionally with the ReLU that follows, so that a
// factory can fuse them.
struct NormalizationSpec {
  int64_t channels = 0;
  double epsilon = 1e-5;
  double momentum = 0.1;
  bool affine = true;
  bool relu = false;
  // Scale starts at 0 instead of 1.
  bool zero_init = false;
};

class GH_API Normalization : public Layer {
 public:
  ~Normalization() override;
  // act(norm(x) + residual), the end of a residual block.
  virtual at::Tensor forward_add(const at::Tensor& x, const at::Tensor& residual) = 0;
};

// `random` advances with every layer made, so the order of calls is part of a backbone's
// definition. Building thread only.
class GH_API LayerFactory {
 public:
  virtual ~LayerFactory();
  virtual std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) = 0;
  virtual std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) = 0;
  virtual std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) = 0;
  // Later abilities of a factory; null unless it knows the interface.
  virtual void* query(const char* interface_id);
};

// Optional: LayerFactory::query(kFollowsConvolution) is not null when the convolutions that a
// method's own factory makes are computed as RunFacts::convolution says; otherwise the host tells
// users that train.convolution does not reach them. Since 1.1.
inline constexpr const char* kFollowsConvolution = "gh.follows_convolution.v1";

// Plain LibTorch operators. Parameter names as in torch.nn: weight, bias, running_mean,
// running_var, num_batches_tracked.
GH_API std::shared_ptr<LayerFactory> standard_layers();

GH_API std::shared_ptr<Layer> make_relu();

// Gives a weight [out, …] and an optional bias [out] (undefined: none) their initial values.
GH_API void initialize(const at::Tensor& weight, const at::Tensor& bias, Init init, Random& random);

}  // namespace v1
}  // namespace gh
