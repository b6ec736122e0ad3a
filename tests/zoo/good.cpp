// A well-behaved plugin with a component or two of each kind, as small as they get: what the zoo's
// visitors must still be able to load, and what the conformance checks must find nothing wrong
// with.
#include "gh/component.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <string>

namespace {

// ±e_i.
class Cross : public gh::Structure {
 public:
  explicit Cross(const gh::Params& params) : points_(params.integer("points")) {}
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

// Has what it was told in its state, as one that changes it on the way would.
class Softmax : public gh::Allocator {
 public:
  explicit Softmax(const gh::Params& params)
      : sharpness_(params.real("sharpness")), note_(sharpness_ > 5 ? "sharp" : "soft") {}
  void visit_state(gh::State& state) override {
    state.real("sharpness", sharpness_);
    state.text("note", note_);
  }
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport& report) override {
    report.scalar("sharpness", sharpness_);
    return at::softmax(request.logits * sharpness_, 1);
  }

 private:
  double sharpness_;
  std::string note_;
};

class OneLayer : public gh::Encoder {
 public:
  OneLayer(const gh::BackboneRequest& request, int64_t features) : features_(features) {
    int64_t inputs = 1;
    for (const int64_t n : request.sample_shape) inputs *= n;
    gh::Random random = request.random;
    linear_ = add_child("linear", request.layers->linear({.in = inputs, .out = features}, random));
  }
  int64_t features() const override { return features_; }
  at::Tensor forward(const at::Tensor& x) override { return linear_->forward(x.flatten(1)); }

 private:
  int64_t features_;
  std::shared_ptr<gh::Layer> linear_;
};
class Linear : public gh::Backbone {
 public:
  explicit Linear(const gh::Params&) {}
  std::shared_ptr<gh::Encoder> make(const gh::BackboneRequest& request) const override {
    return std::make_shared<OneLayer>(request, 4);
  }
};

class CountSplit : public gh::Split {
 public:
  int64_t size() const override { return 5; }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return at::arange(5, at::kLong); }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    const float values[] = {static_cast<float>(index), 1.0f};
    sink.vector(values);
  }
  std::string fingerprint() const override { return "count-5"; }
};
class Count : public gh::Dataset {
 public:
  explicit Count(const gh::Params&) {}
  std::vector<std::string> splits() const override { return {"train", "absent"}; }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t) const override {
    gh::require(split == "train", gh::ErrorCode::missing_data, "fetch it from the zoo shop");
    return std::make_unique<CountSplit>();
  }
};

class Pull : public gh::TwoViewMethod {
 public:
  using TwoViewMethod::TwoViewMethod;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return (z1 - z2).pow(2).sum(1) + z1.pow(2).sum(1);
  }
};

// Asks for boosted views of every second sample, and logs whose two views differ.
class Booster : public Pull {
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor differs = (batch.views[0] != batch.views[1]).flatten(1).any(1).to(at::kDouble);
    const at::Tensor odd = batch.indices.remainder(2).to(at::kDouble);
    host().log("odd_differ", (differs * odd).sum().item<double>());
    host().log("even_differ", (differs * (1 - odd)).sum().item<double>());
    Pull::step(batch, step);
  }
  void end_epoch(gh::Host& host) override {
    if (host.facts().per_sample.empty()) return;
    const at::Tensor numbers = at::arange(host.facts().samples, at::kLong);
    host.publish_per_sample("strength", 1 - numbers.remainder(2));
  }
};

// Trains in two stages of train.epochs each, an empty one between them, and logs a number that
// tells the order of its samples and one that tells their views. Counts its epochs, in its state.
class Staged : public Pull {
 public:
  using Pull::Pull;
  void plan_stages(const gh::RunFacts& facts, gh::Stages& out) const override {
    planned_ = true;
    out.add("first", facts.epochs);
    out.add("between", 0);
    out.add("second", facts.epochs);
  }
  void build(gh::Host& host) override {
    gh::require(planned_, gh::ErrorCode::internal, "build() came before plan_stages()");
    Pull::build(host);
  }
  void begin_epoch(gh::Host&) override { ++epochs_; }
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor place = at::arange(batch.indices.size(0), at::kLong) + 1;
    host().log("order", (batch.indices * place).sum().item<double>());
    host().log("pixels", batch.views[0].sum().item<double>());
    host().log("epochs_begun", static_cast<double>(epochs_));
    Pull::step(batch, step);
  }
  void visit_state(gh::State& state) override {
    Pull::visit_state(state);
    state.integer("epochs", epochs_);
  }

 private:
  mutable bool planned_ = false;
  int64_t epochs_ = 0;
};

class Nothing : public gh::Evaluator {
 public:
  explicit Nothing(const gh::Params&) {}
  void evaluate(gh::Evaluation&) override {}
};

constexpr gh::Param kCross[] = {gh::integer("points", "4", "number of points").at_least(1)};
constexpr gh::Param kSoftmax[] = {
    gh::real("sharpness", "5.0", "factor before the softmax").above(0)};
constexpr gh::Param kPull[] = {GH_PROJECTOR_PARAMS};
constexpr gh::Param kNeedy[] = {gh::path("root", nullptr, "where the data lies")};

constexpr gh::Component kComponents[] = {
    gh::describe<Cross>("zoo_cross", "points at plus and minus the axes", kCross),
    gh::describe<Softmax>("zoo_softmax", "softmax of the logits", kSoftmax),
    gh::describe<Linear>("zoo_linear", "one linear layer"),
    gh::describe<Count>("zoo_count", "five numbers"),
    gh::describe<Count>("zoo_needy", "a data set that must be told where it is", kNeedy),
    gh::describe<Pull>("zoo_pull", "pulls two views together", kPull)
        .with_facts({.paper = "Keeper, 1999", .views = "2", .state = "encoder"}),
    gh::describe<Booster>("zoo_booster", "boosts the views of every second sample", kPull),
    gh::describe<Staged>("zoo_staged", "trains in two stages", kPull),
    gh::describe<Nothing>("zoo_nothing", "evaluates nothing"),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the keepers",
          .doc = "One well-behaved component of each kind")
