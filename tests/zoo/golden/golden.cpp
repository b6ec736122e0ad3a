// Source of golden-1.0.so, which is kept as it was built with SDK 1.0: whole runs consist of it.
// Nothing here is of a later SDK, and nothing of it may stop working; how it was built stands in
// README.md.
#include "gh/component.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace {

// ±e_i.
class Axes : public gh::Structure {
 public:
  explicit Axes(const gh::Params& params) : points_(params.integer("points")) {}
  void check(int64_t width, gh::Complaints& out) const override {
    if (points_ > 2 * width) out.add("points", "more than twice the width");
  }
  at::Tensor points(int64_t width, gh::Random) const override {
    at::Tensor p = at::zeros({points_, width}, at::kDouble);
    for (int64_t i = 0; i < points_; ++i) p[i][i / 2] = i % 2 ? -1.0 : 1.0;
    return p;
  }
  double best_cosine(int64_t) const override { return -1.0; }

 private:
  int64_t points_;
};

// Softmax of the logits; how many it has assigned is its state.
class Softmax : public gh::Allocator {
 public:
  explicit Softmax(const gh::Params& params) : sharpness_(params.real("sharpness")) {}
  void visit_state(gh::State& state) override { state.integer("assigned", assigned_); }
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport& report) override {
    assigned_ += request.logits.size(0);
    report.scalar("assigned", static_cast<double>(assigned_));
    return at::softmax(request.logits * sharpness_, 1);
  }

 private:
  double sharpness_;
  int64_t assigned_ = 0;
};

class TwoLayers : public gh::Encoder {
 public:
  TwoLayers(const gh::BackboneRequest& request, int64_t features) : features_(features) {
    int64_t inputs = 1;
    for (const int64_t n : request.sample_shape) inputs *= n;
    gh::Random random = request.random;
    body_->then(request.layers->linear({.in = inputs, .out = 8, .bias = false}, random))
        .then(request.layers->normalization({.channels = 8, .relu = true}))
        .then(request.layers->linear({.in = 8, .out = features}, random));
    add_child("body", body_);
  }
  int64_t features() const override { return features_; }
  at::Tensor forward(const at::Tensor& x) override { return body_->forward(x.flatten(1)); }

 private:
  int64_t features_;
  std::shared_ptr<gh::Sequential> body_ = std::make_shared<gh::Sequential>();
};
class Perceptron : public gh::Backbone {
 public:
  explicit Perceptron(const gh::Params& params) : features_(params.integer("features")) {}
  std::shared_ptr<gh::Encoder> make(const gh::BackboneRequest& request) const override {
    return std::make_shared<TwoLayers>(request, features_);
  }

 private:
  int64_t features_;
};

class Blobs : public gh::Split {
 public:
  explicit Blobs(gh::Random random) {
    for (int64_t i = 0; i < size(); ++i)
      for (const double centre : {std::cos(2.0 * (i % 3)), std::sin(2.0 * (i % 3))})
        values_.push_back(static_cast<float>(centre + 0.2 * random.normal()));
  }
  int64_t size() const override { return 60; }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return at::arange(size(), at::kLong).remainder(3); }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    sink.vector({&values_[static_cast<std::size_t>(2 * index)], 2});
  }
  std::string fingerprint() const override { return "golden-60"; }

 private:
  std::vector<float> values_;
};
class Circle : public gh::Dataset {
 public:
  explicit Circle(const gh::Params&) {}
  std::vector<std::string> splits() const override { return {"train", "test"}; }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const override {
    return std::make_unique<Blobs>(gh::Random(gh::stream_key(seed, split)));
  }
};

// Pulls two views together; its steps are its state, and a number of the epoch is logged.
class Pull : public gh::TwoViewMethod {
 public:
  explicit Pull(const gh::Params& params)
      : TwoViewMethod(params), weight_(params.real("weight")), form_(params.text("form")) {}
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    host().log("steps", static_cast<double>(++steps_));
    const at::Tensor gap = (z1 - z2).pow(2).sum(1);
    return (form_ == "root" ? (gap + 1e-6).sqrt() : gap) + weight_ * (1 - z1.pow(2).sum(1)).pow(2);
  }
  void visit_state(gh::State& state) override {
    TwoViewMethod::visit_state(state);
    state.integer("steps", steps_);
  }

 private:
  double weight_;
  std::string form_;
  int64_t steps_ = 0;
};

class Length : public gh::Evaluator {
 public:
  explicit Length(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    const gh::Features& f =
        evaluation.features({.level = gh::FeatureLevel::embedding, .split = "test"});
    evaluation.metric("length", f.x.norm(2, {1}).mean().item<double>(), "mean length");
  }
};

constexpr gh::Param kAxes[] = {gh::integer("points", "4", "number of points").at_least(1)};
constexpr gh::Param kSoftmax[] = {
    gh::real("sharpness", "5.0", "factor before the softmax").above(0)};
constexpr gh::Param kPerceptron[] = {gh::integer("features", "4", "width").at_least(1)};
constexpr gh::Param kPull[] = {
    gh::real("weight", "0.1", "of unit length").at_least(0),
    gh::choice("form", "square", "square|root", "of the gap"),
    GH_PROJECTOR_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<Axes>("golden_axes", "points at plus and minus the axes", kAxes),
    gh::describe<Softmax>("golden_softmax", "softmax of the logits", kSoftmax),
    gh::describe<Perceptron>("golden_perceptron", "two layers", kPerceptron),
    gh::describe<Circle>("golden_circle", "three blobs on a circle"),
    gh::describe<Pull>("golden_pull", "pulls two views together", kPull),
    gh::describe<Length>("golden_length", "length of embeddings"),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "ghhost",
          .doc = "One component of each kind, built with SDK 1.0")
