// @NAME@: a perceptron with batch normalisation.
//
// Where to change what:
//   @CLASS@Encoder
//              your network. Every layer with parameters comes from request.layers, so that methods
//              can put in layers of their own (masks, doubled norms); the order of calls fixes the
//              initial weights, the names of children are the names in exports
//   check()    refuses samples it cannot take
//   kParams    what a recipe may set under [backbone]
#include "gh/component.hpp"

#include <memory>

namespace {

class @CLASS@Encoder final : public gh::Encoder {
 public:
  @CLASS@Encoder(const gh::BackboneRequest& request, int64_t hidden, int64_t depth,
                 int64_t features)
      : features_(features) {
    gh::Random random = request.random;
    int64_t in = 1;
    for (const int64_t size : request.sample_shape) in *= size;
    for (int64_t i = 0; i < depth; ++i) {
      body_->then(request.layers->linear({.in = in, .out = hidden, .bias = false}, random))
          .then(request.layers->normalization({.channels = hidden, .relu = true}));
      in = hidden;
    }
    body_->then(request.layers->linear({.in = in, .out = features}, random));
    add_child("body", body_);
  }
  at::Tensor forward(const at::Tensor& x) override { return body_->forward(x.flatten(1)); }
  int64_t features() const override { return features_; }

 private:
  int64_t features_;
  std::shared_ptr<gh::Sequential> body_ = std::make_shared<gh::Sequential>();
};

class @CLASS@ final : public gh::Backbone {
 public:
  explicit @CLASS@(const gh::Params& params)
      : hidden_(params.integer("hidden")),
        depth_(params.integer("depth")),
        features_(params.integer("features")) {}

  void check(std::span<const int64_t> sample_shape, gh::Complaints& out) const override {
    if (sample_shape.empty()) out.add(".data", "@NAME@ needs samples of one size");
  }
  std::shared_ptr<gh::Encoder> make(const gh::BackboneRequest& request) const override {
    return std::make_shared<@CLASS@Encoder>(request, hidden_, depth_, features_);
  }

 private:
  int64_t hidden_;
  int64_t depth_;
  int64_t features_;
};

constexpr gh::Param kParams[] = {
    gh::integer("hidden", "32", "width of the hidden layers").at_least(1).at_most(65536),
    gh::integer("depth", "1", "number of hidden layers").at_least(0).at_most(1000),
    gh::integer("features", "2", "width of the output").at_least(1).at_most(65536),
};
constexpr gh::Component kComponents[] = {
    gh::describe<@CLASS@>("@NAME@", "perceptron with batch normalisation", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "your name", .url = "",
          .doc = "What this plugin is for, in a sentence or two")
