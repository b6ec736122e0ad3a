// One set of weights, two branches: a dense one, and one in which weights of small magnitude count
// as zero and normalisation is its own. Layers of both come from a factory, so they work inside any
// backbone. Needs libghops.
//
//   parts::BranchLayers layers(host);
//   encoder = host.make_backbone("encoder", &layers.encoder());
//   parts::prune_by_magnitude(layers.prunable(), 0.9);              // masks are buffers, so state
//   { const parts::PrunedScope scope(layers.branch()); z = encoder->forward(x); }
#pragma once

#include "gh/error.hpp"
#include "gh/host.hpp"
#include "gh/layers.hpp"
#include "gh/ops/convolution.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/kthvalue.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gh::parts {

// Which branch runs. Every layer of a factory looks at the same one: dense, but within a
// PrunedScope. Training thread.
struct Branch {
  bool pruned = false;
};
class PrunedScope {
 public:
  explicit PrunedScope(Branch& branch) : branch_(branch) { branch_.pruned = true; }
  ~PrunedScope() { branch_.pruned = false; }
  PrunedScope(const PrunedScope&) = delete;
  PrunedScope& operator=(const PrunedScope&) = delete;

 private:
  Branch& branch_;
};

// A layer's weight and its mask of zeros and ones, of the same type.
struct Prunable {
  at::Tensor weight, mask;
};

// One threshold over all weights together, the element of zero-based rank min(⌈fraction·n⌉, n − 1)
// of sorted |w|; what is at least as large stays. Writes the masks; returns the share that stays.
inline double prune_by_magnitude(const std::vector<Prunable>& layers, double fraction) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sizes;
  for (const Prunable& layer : layers) sizes.push_back(layer.weight.detach().abs().flatten());
  const at::Tensor all = at::cat(sizes);
  const int64_t n = all.numel();
  const int64_t rank =
      std::min(static_cast<int64_t>(std::ceil(fraction * static_cast<double>(n))), n - 1);
  const at::Tensor threshold = std::get<0>(all.kthvalue(rank + 1));
  for (const Prunable& layer : layers) layer.mask.copy_(layer.weight.detach().abs().ge(threshold));
  return static_cast<double>(all.ge(threshold).sum().item<int64_t>()) / static_cast<double>(n);
}

// A weight that is masked in the pruned branch.
class MaskedLayer : public Layer {
 public:
  Prunable prunable() const { return {weight_, mask_}; }

 protected:
  MaskedLayer(at::IntArrayRef shape, bool bias, Init init, Random& random,
              std::shared_ptr<const Branch> branch)
      : branch_(std::move(branch)) {
    const at::Tensor weight = at::empty(shape);
    const at::Tensor shift = bias ? at::empty({shape[0]}) : at::Tensor();
    initialize(weight, shift, init, random);
    weight_ = add_parameter("weight", weight);
    if (bias) bias_ = add_parameter("bias", shift);
    mask_ = add_buffer("mask", at::ones(shape));
  }
  at::Tensor weight() const { return branch_->pruned ? weight_ * mask_ : weight_; }
  const at::Tensor& bias() const { return bias_; }

 private:
  std::shared_ptr<const Branch> branch_;
  at::Tensor weight_, bias_, mask_;
};

class MaskedConvolution final : public MaskedLayer {
 public:
  MaskedConvolution(const ConvolutionSpec& spec, ops::ConvolutionMode mode, Random& random,
                    std::shared_ptr<const Branch> branch)
      : MaskedLayer({spec.out, spec.in / spec.groups, spec.kernel, spec.kernel}, spec.bias,
                    spec.init, random, std::move(branch)),
        arguments_{.stride = spec.stride,
                   .padding = spec.padding,
                   .dilation = spec.dilation,
                   .groups = spec.groups},
        mode_(mode) {}
  at::Tensor forward(const at::Tensor& x) override {
    return ops::convolution(x, weight(), bias(), arguments_, mode_);
  }

 private:
  ops::ConvolutionArguments arguments_;
  ops::ConvolutionMode mode_;
};

class MaskedLinear final : public MaskedLayer {
 public:
  MaskedLinear(const LinearSpec& spec, Random& random, std::shared_ptr<const Branch> branch)
      : MaskedLayer({spec.out, spec.in}, spec.bias, spec.init, random, std::move(branch)) {}
  at::Tensor forward(const at::Tensor& x) override { return at::linear(x, weight(), bias()); }
};

// Children "dense" and "pruned".
class DualNorm final : public Normalization {
 public:
  DualNorm(const NormalizationSpec& spec, LayerFactory& plain, std::shared_ptr<const Branch> branch)
      : branch_(std::move(branch)),
        dense_(add_child("dense", plain.normalization(spec))),
        pruned_(add_child("pruned", plain.normalization(spec))) {}
  at::Tensor forward(const at::Tensor& x) override { return norm().forward(x); }
  at::Tensor forward_add(const at::Tensor& x, const at::Tensor& residual) override {
    return norm().forward_add(x, residual);
  }

 private:
  Normalization& norm() const { return branch_->pruned ? *pruned_ : *dense_; }

  std::shared_ptr<const Branch> branch_;
  std::shared_ptr<Normalization> dense_, pruned_;
};

// Factories of an encoder, whose weights can be pruned, and of a head, whose cannot. Outlived by
// the layers they make, not by the host.
class BranchLayers {
 public:
  explicit BranchLayers(Host& host)
      : branch_(std::make_shared<Branch>()),
        encoder_(host.layers(), branch_, ops::convolution_mode(mode_of(host))),
        head_(host.layers(), branch_) {}

  LayerFactory& encoder() { return encoder_; }
  LayerFactory& head() { return head_; }
  Branch& branch() { return *branch_; }
  // The encoder's convolutions; of one without any, its linear layers.
  const std::vector<Prunable>& prunable() const {
    return encoder_.convolutions.empty() ? encoder_.linears : encoder_.convolutions;
  }

 private:
  class Head : public LayerFactory {
   public:
    Head(LayerFactory& plain, std::shared_ptr<const Branch> branch)
        : plain_(plain), branch_(std::move(branch)) {}
    std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
      return plain_.linear(spec, random);
    }
    std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
      return plain_.convolution(spec, random);
    }
    std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
      return std::make_shared<DualNorm>(spec, plain_, branch_);
    }

   protected:
    const std::shared_ptr<const Branch>& shared_branch() const { return branch_; }

   private:
    LayerFactory& plain_;
    std::shared_ptr<const Branch> branch_;
  };

  class Prunables final : public Head {
   public:
    Prunables(LayerFactory& plain, std::shared_ptr<const Branch> branch, ops::ConvolutionMode mode)
        : Head(plain, std::move(branch)), mode_(mode) {}
    std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
      auto layer = std::make_shared<MaskedLinear>(spec, random, shared_branch());
      linears.push_back(layer->prunable());
      return layer;
    }
    std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
      auto layer = std::make_shared<MaskedConvolution>(spec, mode_, random, shared_branch());
      convolutions.push_back(layer->prunable());
      return layer;
    }
    void* query(const char* interface_id) override {
      return std::string_view(interface_id) == kFollowsConvolution ? this
                                                                   : Head::query(interface_id);
    }
    std::vector<Prunable> convolutions, linears;

   private:
    ops::ConvolutionMode mode_;
  };

  static std::string_view mode_of(Host& host) {
    return host.facts().convolution.empty() ? "auto" : std::string_view(host.facts().convolution);
  }

  std::shared_ptr<Branch> branch_;
  Prunables encoder_;
  Head head_;
};

// ---- Between an encoder with branches and a plain one of the same backbone.

// Where a tensor of an encoder with branches is found in a plain one; "" for masks, and for the
// pruned branch unless `branch` is "pruned".
inline std::string plain_name(const std::string& name, const std::string& branch) {
  const auto dot = name.rfind('.');
  if (dot == std::string::npos) return name == "mask" ? "" : name;
  std::string owner = name.substr(0, dot);
  const std::string own = name.substr(dot + 1);
  if (own == "mask") return "";
  for (const char* which : {"dense", "pruned"}) {
    const auto last = owner.rfind('.');
    const std::string child = last == std::string::npos ? owner : owner.substr(last + 1);
    if (child != which) continue;
    if (branch != which) return "";
    owner = last == std::string::npos ? "" : owner.substr(0, last);
    return owner.empty() ? own : owner + "." + own;
  }
  return name;
}

// Calls each(own, plain) for every tensor that the branch shares with a plain encoder;
// ErrorCode::internal when that lacks one.
template <class Each>
void for_plain_tensors(const Module& branched, const Module& plain, const std::string& branch,
                       Each each) {
  const auto all = [](const Module& module) {
    auto tensors = module.parameters();
    for (NamedTensor& buffer : module.buffers()) tensors.push_back(std::move(buffer));
    return tensors;
  };
  const auto there = all(plain);
  for (const NamedTensor& own : all(branched)) {
    const std::string name = plain_name(own.name, branch);
    if (name.empty()) continue;
    const auto found =
        std::find_if(there.begin(), there.end(), [&](const auto& t) { return t.name == name; });
    require(found != there.end(), ErrorCode::internal, "a plain encoder has no ", name);
    each(own.tensor.detach(), found->tensor.detach());
  }
}

}  // namespace gh::parts
