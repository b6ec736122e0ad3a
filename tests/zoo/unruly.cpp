// Loads well and breaks the contract of every kind; the conformance checks must notice each.
#include "gh/component.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/ones.h>

#include <atomic>

namespace {

class Long : public gh::Structure {  // rows are not of unit length
 public:
  explicit Long(const gh::Params&) {}
  at::Tensor points(int64_t width, gh::Random) const override {
    return at::ones({4, width}, at::kDouble);
  }
};

class Whim : public gh::Structure {  // other points at each call
 public:
  explicit Whim(const gh::Params&) {}
  at::Tensor points(int64_t width, gh::Random) const override {
    at::Tensor p = at::ones({4, width}, at::kDouble);
    gh::Random(++calls_).fill_normal(p, 0, 1);
    return p / p.norm(2, 1, true);
  }

 private:
  mutable std::atomic<uint64_t> calls_ = 0;
};

class Greedy : public gh::Allocator {  // rows sum to what they like; zero priors give NaN
 public:
  explicit Greedy(const gh::Params&) {}
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    at::Tensor t = request.logits.abs();
    if (request.prior.defined()) t = t / request.prior.to(t.scalar_type());
    return t;
  }
};

class Wide : public gh::Encoder {  // says 3 features, gives 2; one parameter is not used
 public:
  explicit Wide(const gh::BackboneRequest& request) {
    gh::Random random = request.random;
    int64_t inputs = 1;
    for (const int64_t n : request.sample_shape) inputs *= n;
    linear_ = add_child("linear", request.layers->linear({.in = inputs, .out = 2}, random));
  }
  int64_t features() const override { return 3; }
  at::Tensor forward(const at::Tensor& x) override { return linear_->forward(x.flatten(1)); }

 private:
  std::shared_ptr<gh::Layer> linear_;
};
class WideBackbone : public gh::Backbone {
 public:
  explicit WideBackbone(const gh::Params&) {}
  std::shared_ptr<gh::Encoder> make(const gh::BackboneRequest& request) const override {
    return std::make_shared<Wide>(request);
  }
};

class DriftSplit : public gh::Split {  // targets of the wrong length, two samples for one
 public:
  int64_t size() const override { return 3; }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return at::ones({2}, at::kLong); }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t, gh::SampleSink& sink) const override {
    const float values[] = {1, 2};
    sink.vector(values);
    sink.vector(values);
  }
  std::string fingerprint() const override { return ""; }
};
class Drift : public gh::Dataset {
 public:
  explicit Drift(const gh::Params&) {}
  std::vector<std::string> splits() const override { return {"train"}; }
  std::unique_ptr<gh::Split> open(std::string_view, uint64_t) const override {
    return std::make_unique<DriftSplit>();
  }
};

class Forgetful : public gh::TwoViewMethod {  // trains a scale that it neither uses nor saves
 public:
  using TwoViewMethod::TwoViewMethod;
  void build(gh::Host& host) override {
    TwoViewMethod::build(host);
    scale_ = at::ones({3}).requires_grad_(true);
  }
  void trainable(gh::Trainables& out) override {
    TwoViewMethod::trainable(out);
    out.add(scale_, gh::Policy::normal, 1.0);
  }
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return (z1 - z2).pow(2).sum(1);
  }

 private:
  at::Tensor scale_;
};

class Late
    : public gh::TwoViewMethod {  // in its second stage, trains a scale that it does not save
 public:
  using TwoViewMethod::TwoViewMethod;
  void plan_stages(const gh::RunFacts&, gh::Stages& out) const override {
    out.add("first", 1);
    out.add("second", 1);
  }
  void begin_stage(gh::Host& host) override {
    if (host.progress().stage == "second") scale_ = at::ones({}).requires_grad_(true);
  }
  void trainable(gh::Trainables& out) override {
    TwoViewMethod::trainable(out);
    if (scale_.defined()) out.add(scale_, gh::Policy::normal, 1.0);
  }
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    const at::Tensor apart = (z1 - z2).pow(2).sum(1);
    return scale_.defined() ? scale_ * apart : apart;
  }

 private:
  at::Tensor scale_;
};

class Thrower : public gh::Evaluator {
 public:
  explicit Thrower(const gh::Params&) {}
  void check(const gh::EvalFacts&, gh::Complaints&) const override {
    gh::fail(gh::ErrorCode::internal, "tantrum");
  }
  void evaluate(gh::Evaluation&) override {}
};

constexpr gh::Param kForgetful[] = {GH_PROJECTOR_PARAMS};
constexpr gh::Component kComponents[] = {
    gh::describe<Long>("zoo_long", "rows too long"),
    gh::describe<Whim>("zoo_whim", "never the same"),
    gh::describe<Greedy>("zoo_greedy", "rows that do not sum to one"),
    gh::describe<WideBackbone>("zoo_wide", "says another width than it has"),
    gh::describe<Drift>("zoo_drift", "targets that do not fit"),
    gh::describe<Forgetful>("zoo_forgetful", "a trainable without gradient and state", kForgetful),
    gh::describe<Late>("zoo_late", "forgets in its second stage", kForgetful),
    gh::describe<Thrower>("zoo_thrower", "throws in check"),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .doc = "Breaks every contract")
