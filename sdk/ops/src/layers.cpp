#include "gh/ops/layers.hpp"

#include "fused_norm.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

// A layer with the tensors of another one, by their names. That one makes them and stands in where
// ours does not take the call.
template <class Base>
class Around : public Base {
 protected:
  explicit Around(std::shared_ptr<Base> inner) : inner_(std::move(inner)) {
    for (const NamedTensor& t : inner_->parameters()) this->add_parameter(t.name, t.tensor);
    for (const NamedTensor& t : inner_->buffers()) this->add_buffer(t.name, t.tensor);
  }
  // Undefined where there is none.
  at::Tensor tensor(std::string_view name) const {
    for (const auto& list : {inner_->parameters(), inner_->buffers()})
      for (const NamedTensor& t : list)
        if (t.name == name) return t.tensor;
    return {};
  }
  Base& inner() {
    if (inner_->training() != this->training()) inner_->train(this->training());
    return *inner_;
  }

 private:
  std::shared_ptr<Base> inner_;
};

class Convolution final : public Around<Layer> {
 public:
  Convolution(std::shared_ptr<Layer> inner, const ConvolutionSpec& spec, ConvolutionMode mode)
      : Around(std::move(inner)),
        arguments_{.stride = spec.stride,
                   .padding = spec.padding,
                   .dilation = spec.dilation,
                   .groups = spec.groups},
        mode_(mode),
        weight_(tensor("weight")),
        bias_(tensor("bias")) {}
  at::Tensor forward(const at::Tensor& x) override {
    return convolution(x, weight_, bias_, arguments_, mode_);
  }

 private:
  ConvolutionArguments arguments_;
  ConvolutionMode mode_;
  at::Tensor weight_, bias_;
};

class Norm final : public Around<Normalization> {
 public:
  Norm(std::shared_ptr<Normalization> inner, const NormalizationSpec& spec)
      : Around(std::move(inner)),
        spec_(spec),
        weight_(tensor("weight")),
        bias_(tensor("bias")),
        mean_(tensor("running_mean")),
        variance_(tensor("running_var")),
        count_(tensor("num_batches_tracked")) {}
  at::Tensor forward(const at::Tensor& x) override {
    const NormCall call = call_for(x, {});
    return fused_norm_takes(call) ? fused(call) : inner().forward(x);
  }
  at::Tensor forward_add(const at::Tensor& x, const at::Tensor& residual) override {
    const NormCall call = call_for(x, residual);
    return fused_norm_takes(call) ? fused(call) : inner().forward_add(x, residual);
  }

 private:
  NormCall call_for(const at::Tensor& x, const at::Tensor& residual) const {
    return {.x = x,
            .residual = residual,
            .weight = weight_,
            .bias = bias_,
            .running_mean = mean_,
            .running_variance = variance_,
            .momentum = spec_.momentum,
            .epsilon = spec_.epsilon,
            .training = training(),
            .relu = spec_.relu};
  }
  at::Tensor fused(const NormCall& call) {
    if (call.training) {
      require(call.x.numel() > call.x.size(1), ErrorCode::shape,
              "batch normalisation in training needs more than one value per channel, got ",
              call.x.sizes());
      at::NoGradGuard no_grad;
      count_.add_(1);
    }
    return fused_norm(call);
  }

  NormalizationSpec spec_;
  at::Tensor weight_, bias_, mean_, variance_, count_;
};

class FastLayers final : public LayerFactory {
 public:
  explicit FastLayers(ConvolutionMode mode) : mode_(mode) {}
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
    return standard_->linear(spec, random);
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
    return std::make_shared<Convolution>(standard_->convolution(spec, random), spec, mode_);
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
    return std::make_shared<Norm>(standard_->normalization(spec), spec);
  }

 private:
  ConvolutionMode mode_;
  std::shared_ptr<LayerFactory> standard_ = standard_layers();
};

}  // namespace

std::shared_ptr<LayerFactory> fast_layers(ConvolutionMode mode) {
  return std::make_shared<FastLayers>(mode);
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
