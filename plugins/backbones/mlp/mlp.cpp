// Multi-layer perceptron on flattened samples: linear layers with ReLU between them.
#include "gh/component.hpp"

#include <memory>
#include <vector>

namespace {

class MlpEncoder final : public gh::Encoder {
 public:
  MlpEncoder(const gh::BackboneRequest& request, const std::vector<int64_t>& widths)
      : features_(widths.back()) {
    gh::Random random = request.random;
    int64_t in = 1;
    for (const int64_t size : request.sample_shape) in *= size;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) layers_->then(gh::make_relu());
      layers_->then(request.layers->linear({.in = in, .out = widths[i]}, random));
      in = widths[i];
    }
    add_child("layers", layers_);
  }
  at::Tensor forward(const at::Tensor& x) override { return layers_->forward(x.flatten(1)); }
  int64_t features() const override { return features_; }

 private:
  int64_t features_;
  std::shared_ptr<gh::Sequential> layers_ = std::make_shared<gh::Sequential>();
};

class Mlp final : public gh::Backbone {
 public:
  explicit Mlp(const gh::Params& params)
      : widths_(params.integers("hidden").begin(), params.integers("hidden").end()) {
    widths_.push_back(params.integer("features"));
  }
  void check(std::span<const int64_t> sample_shape, gh::Complaints& out) const override {
    if (sample_shape.empty()) out.add(".data", "an MLP needs samples of one size");
  }
  std::shared_ptr<gh::Encoder> make(const gh::BackboneRequest& request) const override {
    return std::make_shared<MlpEncoder>(request, widths_);
  }

 private:
  std::vector<int64_t> widths_;
};

constexpr gh::Param kParams[] = {
    gh::integers("hidden", "[20]", "widths of the hidden layers").at_least(1).at_most(65536),
    gh::integer("features", "2", "width of the output").at_least(1).at_most(65536),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Mlp>("mlp", "multi-layer perceptron with ReLU", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "A small network for vectors, such as the paper's 2-20-2")
