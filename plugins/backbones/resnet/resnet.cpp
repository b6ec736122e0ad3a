// Residual networks (He et al. 2016) of 18, 34 and 50 layers up to the pooled features. Children
// are named and ordered as in torchvision, so that exported weights load there.
#include "gh/component.hpp"

#include <ATen/ops/max_pool2d.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Plan {
  std::array<int64_t, 4> blocks;  // of each stage
  bool bottleneck;
  // From the recipe.
  int64_t width = 64;
  bool small_stem = false;
  bool zero_init_residual = false;
  gh::Init init = gh::Init::torch_default;

  int64_t expansion() const { return bottleneck ? 4 : 1; }
  // How many pixels of the image lie under one of the last stage.
  int64_t reduction() const { return small_stem ? 8 : 32; }
};

// Makes the layers of one network.
struct Maker {
  const Plan& plan;
  gh::LayerFactory& layers;
  gh::Random random;

  std::shared_ptr<gh::Layer> convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    return layers.convolution({.in = in,
                               .out = out,
                               .kernel = kernel,
                               .stride = stride,
                               .padding = kernel / 2,
                               .init = plan.init},
                              random);
  }
  std::shared_ptr<gh::Normalization> activated_norm(int64_t channels, bool zero = false) {
    return layers.normalization({.channels = channels, .relu = true, .zero_init = zero});
  }
};

// relu(F(x) + shortcut(x)), where F is two 3×3 convolutions or, as a bottleneck, 1×1, 3×3, 1×1. A
// bottleneck strides in its 3×3 convolution, as torchvision's does.
class Block final : public gh::Layer {
 public:
  Block(Maker& make, int64_t in, int64_t width, int64_t stride) {
    const Plan& plan = make.plan;
    const int64_t out = width * plan.expansion();
    const bool zero = plan.zero_init_residual;
    if (plan.bottleneck) {
      add(make.convolution(in, width, 1, 1), make.activated_norm(width));
      add(make.convolution(width, width, 3, stride), make.activated_norm(width));
      add(make.convolution(width, out, 1, 1), make.activated_norm(out, zero));
    } else {
      add(make.convolution(in, width, 3, stride), make.activated_norm(width));
      add(make.convolution(width, out, 3, 1), make.activated_norm(out, zero));
    }
    if (stride == 1 && in == out) return;
    downsample_ = add_child("downsample", std::make_shared<gh::Sequential>());
    downsample_->then(make.convolution(in, out, 1, stride))
        .then(make.layers.normalization({.channels = out}));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = x;
    for (std::size_t i = 0; i + 1 < convolutions_.size(); ++i)
      y = norms_[i]->forward(convolutions_[i]->forward(y));
    const at::Tensor shortcut = downsample_ ? downsample_->forward(x) : x;
    return norms_.back()->forward_add(convolutions_.back()->forward(y), shortcut);
  }

 private:
  void add(std::shared_ptr<gh::Layer> convolution, std::shared_ptr<gh::Normalization> norm) {
    const std::string number = std::to_string(convolutions_.size() + 1);
    convolutions_.push_back(add_child("conv" + number, std::move(convolution)));
    norms_.push_back(add_child("bn" + number, std::move(norm)));
  }

  std::vector<std::shared_ptr<gh::Layer>> convolutions_;
  std::vector<std::shared_ptr<gh::Normalization>> norms_;
  std::shared_ptr<gh::Sequential> downsample_;  // null where the shortcut is the identity
};

class ResnetEncoder final : public gh::Encoder {
 public:
  ResnetEncoder(const gh::BackboneRequest& request, const Plan& plan)
      : small_stem_(plan.small_stem), features_(8 * plan.width * plan.expansion()) {
    Maker make{plan, *request.layers, request.random};
    const int64_t channels = request.sample_shape[0];
    convolution_ = add_child("conv1", small_stem_ ? make.convolution(channels, plan.width, 3, 1)
                                                  : make.convolution(channels, plan.width, 7, 2));
    norm_ = add_child("bn1", make.activated_norm(plan.width));
    int64_t in = plan.width;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const int64_t width = plan.width << stage;
      stages_[stage] = std::make_shared<gh::Sequential>();
      for (int64_t i = 0; i < plan.blocks[stage]; ++i) {
        const int64_t stride = stage > 0 && i == 0 ? 2 : 1;
        stages_[stage]->then(std::make_shared<Block>(make, in, width, stride));
        in = width * plan.expansion();
      }
      add_child("layer" + std::to_string(stage + 1), stages_[stage]);
    }
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = norm_->forward(convolution_->forward(x));
    if (!small_stem_) y = at::max_pool2d(y, 3, 2, 1);
    for (const auto& stage : stages_) y = stage->forward(y);
    return y.mean({2, 3});
  }
  int64_t features() const override { return features_; }

 private:
  bool small_stem_;
  int64_t features_;
  std::shared_ptr<gh::Layer> convolution_;
  std::shared_ptr<gh::Normalization> norm_;
  std::array<std::shared_ptr<gh::Sequential>, 4> stages_;
};

class Resnet : public gh::Backbone {
 public:
  void check(std::span<const int64_t> shape, gh::Complaints& out) const override {
    if (shape.size() != 3) {
      std::string got;
      for (const int64_t size : shape) got += (got.empty() ? "[" : ", ") + std::to_string(size);
      out.add("id", "a ResNet takes images [channels, height, width], the samples are " +
                        (got.empty() ? std::string("of several sizes") : got + "]"));
      return;
    }
    const int64_t least = plan_.reduction();
    if (shape[1] >= least && shape[2] >= least) return;
    std::string message = "this stem divides height and width by ";
    message += std::to_string(least) + " in all, the samples have " + std::to_string(shape[1]) +
               "×" + std::to_string(shape[2]) + " pixels";
    if (!plan_.small_stem && shape[1] >= 8 && shape[2] >= 8) message += "; try \"small\"";
    out.add("stem", message);
  }
  std::shared_ptr<gh::Encoder> make(const gh::BackboneRequest& request) const override {
    return std::make_shared<ResnetEncoder>(request, plan_);
  }

 protected:
  Resnet(const gh::Params& params, Plan plan) : plan_(plan) {
    plan_.width = params.integer("width");
    plan_.small_stem = params.text("stem") == "small";
    plan_.zero_init_residual = params.boolean("zero_init_residual");
    if (params.text("init") == "kaiming") plan_.init = gh::Init::kaiming_fan_out;
  }

 private:
  Plan plan_;
};

class Resnet18 final : public Resnet {
 public:
  explicit Resnet18(const gh::Params& p) : Resnet(p, {{2, 2, 2, 2}, false}) {}
};
class Resnet34 final : public Resnet {
 public:
  explicit Resnet34(const gh::Params& p) : Resnet(p, {{3, 4, 6, 3}, false}) {}
};
class Resnet50 final : public Resnet {
 public:
  explicit Resnet50(const gh::Params& p) : Resnet(p, {{3, 4, 6, 3}, true}) {}
};

constexpr gh::Param kParams[] = {
    gh::integer("width", "64", "of the first stage; each later one has twice as many")
        .at_least(1)
        .at_most(1024)
        .in("channels"),
    gh::choice("stem", "imagenet", "imagenet|small",
               "imagenet: 7x7 of stride 2 and max-pooling; small: 3x3 of stride 1, for 32x32"),
    gh::choice("init", "torch", "torch|kaiming",
               "torch: uniform in ±1/√fan_in; kaiming: normal of variance 2/fan_out"),
    gh::boolean("zero_init_residual", "false", "blocks start as the identity"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Resnet18>("resnet18", "residual network of 18 layers, 512 features", kParams),
    gh::describe<Resnet34>("resnet34", "residual network of 34 layers, 512 features", kParams),
    gh::describe<Resnet50>("resnet50", "residual network of 50 layers, 2048 features", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Residual networks for images (He et al., CVPR 2016), named as in torchvision")
