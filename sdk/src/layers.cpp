#include "gh/layers.hpp"

#include "gh/error.hpp"
#include "gh/norm_tensors.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include <cmath>

namespace gh {
inline namespace v1 {
namespace {

class Linear final : public Layer {
 public:
  Linear(const LinearSpec& spec, Random& random) {
    const at::Tensor weight = at::empty({spec.out, spec.in});
    const at::Tensor bias = spec.bias ? at::empty({spec.out}) : at::Tensor();
    initialize(weight, bias, spec.init, random);
    weight_ = add_parameter("weight", weight);
    if (spec.bias) bias_ = add_parameter("bias", bias);
  }
  at::Tensor forward(const at::Tensor& x) override { return at::linear(x, weight_, bias_); }

 private:
  at::Tensor weight_, bias_;
};

class Convolution final : public Layer {
 public:
  Convolution(const ConvolutionSpec& spec, Random& random) : spec_(spec) {
    const at::Tensor weight =
        at::empty({spec.out, spec.in / spec.groups, spec.kernel, spec.kernel});
    const at::Tensor bias = spec.bias ? at::empty({spec.out}) : at::Tensor();
    initialize(weight, bias, spec.init, random);
    weight_ = add_parameter("weight", weight);
    if (spec.bias) bias_ = add_parameter("bias", bias);
  }
  at::Tensor forward(const at::Tensor& x) override {
    return at::conv2d(x, weight_, bias_, spec_.stride, spec_.padding, spec_.dilation, spec_.groups);
  }

 private:
  ConvolutionSpec spec_;
  at::Tensor weight_, bias_;
};

class BatchNorm final : public NormTensors {
 public:
  explicit BatchNorm(const NormalizationSpec& spec) : NormTensors(spec) {}
  at::Tensor forward(const at::Tensor& x) override { return normalize(x, {}); }
  at::Tensor forward_add(const at::Tensor& x, const at::Tensor& residual) override {
    return normalize(x, residual);
  }

 private:
  at::Tensor normalize(const at::Tensor& x, const at::Tensor& residual) {
    if (training()) {
      require(x.numel() > x.size(1), ErrorCode::shape,
              "batch normalisation in training needs more than one value per channel, got ",
              x.sizes());
      at::NoGradGuard no_grad;
      count_.add_(1);
    }
    at::Tensor y = at::batch_norm(x, weight_, bias_, mean_, variance_, training(), spec_.momentum,
                                  spec_.epsilon, /*cudnn_enabled=*/true);
    if (residual.defined()) y = y + residual;
    return spec_.relu ? at::relu(y) : y;
  }
};

class Relu final : public Layer {
 public:
  at::Tensor forward(const at::Tensor& x) override { return at::relu(x); }
};

class StandardLayers final : public LayerFactory {
 public:
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
    return std::make_shared<Linear>(spec, random);
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
    return std::make_shared<Convolution>(spec, random);
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
    return std::make_shared<BatchNorm>(spec);
  }
};

}  // namespace

Normalization::~Normalization() = default;
LayerFactory::~LayerFactory() = default;
void* LayerFactory::query(const char*) { return nullptr; }

std::shared_ptr<LayerFactory> standard_layers() { return std::make_shared<StandardLayers>(); }
std::shared_ptr<Layer> make_relu() { return std::make_shared<Relu>(); }

void initialize(const at::Tensor& weight, const at::Tensor& bias, Init init, Random& random) {
  require(weight.dim() >= 2 && weight.numel() > 0, ErrorCode::shape,
          "a weight needs at least two dimensions and one element, got ", weight.sizes());
  const double fan_in = static_cast<double>(weight.numel() / weight.size(0));
  if (init == Init::kaiming_fan_out) {
    const double fan_out = static_cast<double>(weight.numel() / weight.size(1));
    random.fill_normal(weight, 0, std::sqrt(2 / fan_out));
    if (bias.defined()) random.fill_uniform(bias, 0, 0);
    return;
  }
  const double bound = 1 / std::sqrt(fan_in);
  random.fill_uniform(weight, -bound, bound);
  if (bias.defined()) random.fill_uniform(bias, -bound, bound);
}

}  // namespace v1
}  // namespace gh
