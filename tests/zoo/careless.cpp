// Mistakes that authors make, one a component: each builds, loads and trains, and most give good
// numbers on one rank in one go. conformance_test.cpp names what `plugins check` must say of each.
#include "gh/component.hpp"
#include "gh/two_view.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

namespace {

// ---- methods

// Pulls two views together; what follows spoils it.
class Pull : public gh::TwoViewMethod {
 public:
  using TwoViewMethod::TwoViewMethod;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return (z1 - z2).pow(2).sum(1) + z1.pow(2).sum(1);
  }

 protected:
  // The step of Pull, with another loss.
  void learn_from(gh::Step& step, const at::Tensor& loss, const at::Tensor& z1,
                  const at::Tensor& z2) {
    step.backward(loss + losses(step.project(z1), step.project(z2)).mean() +
                  step.harmonize(z1, z2));
  }
};

class MeanForgotten final : public Pull {  // a running mean that is no state
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    const at::Tensor loss = Pull::losses(z1, z2) + 0.01 * z1.square().sum(1) * mean_;
    const at::Tensor sum = host().all_reduce_sum(z2.detach().square().sum());
    mean_ = 0.9 * mean_ + 0.1 * sum.item<double>() / static_cast<double>(z2.numel());
    return loss;
  }

 private:
  double mean_ = 0;
};

class MaskForgotten final : public Pull {  // begin_epoch() is not repeated on resume
 public:
  using Pull::Pull;
  void begin_epoch(gh::Host& host) override { kept_ = host.random("mask").uniform(); }
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return Pull::losses(z1 * kept_, z2 * kept_);
  }

 private:
  double kept_ = 1;
};

class OwnRows final : public Pull {  // stores what only this rank saw
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    seen_ += batch.indices.sum().item<int64_t>();
    Pull::step(batch, step);
  }
  void visit_state(gh::State& state) override {
    Pull::visit_state(state);
    state.integer("seen", seen_);
  }

 private:
  int64_t seen_ = 0;
};

class LoneCollective final : public Pull {  // gathers where its data say so
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    if (host().facts().rank == 0) host().all_gather(z1);
    return Pull::losses(z1, z2);
  }
};

class TwinAwake final : public Pull {  // train() does not reach the twin
 public:
  using Pull::Pull;
  void build(gh::Host& host) override {
    Pull::build(host);
    twin_ = host.make_backbone("twin", nullptr);
    twin_->requires_grad(false);
  }
  void visit_state(gh::State& state) override {
    Pull::visit_state(state);
    twin_->visit_state(state, "twin");
  }

 private:
  std::shared_ptr<gh::Encoder> twin_;
};

class ShuffledGradient final : public Pull {  // no gradient comes back through an exchange of rows
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return Pull::losses(z1, host().unshuffle_rows(host().shuffle_rows(z2)));
  }
};

class NeverUnshuffled final : public Pull {
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return Pull::losses(z1, host().shuffle_rows(z2.detach())) + Pull::losses(z1, z2);
  }
};

class EmbedsInStep final : public Pull {
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    host().embed_all("plain", [&](const at::Tensor& x) { return embed(x); });
    Pull::step(batch, step);
  }
};

class GathersInEmbedAll final : public Pull {  // ranks have other numbers of batches there
 public:
  using Pull::Pull;
  void begin_epoch(gh::Host& host) override {
    host.embed_all("plain", [&](const at::Tensor& x) { return host.all_gather(embed(x)); });
  }
};

class ProjectsInVain final : public Pull {  // asks for the projection and compares something else
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    step.project(z1);
    step.backward(losses(z1, z2).mean() + step.harmonize(z1, z2));
  }
};

class GlobalNoise final : public Pull {
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    at::randn_like(z1);
    return Pull::losses(z1, z2);
  }
};

class LibraryNoise final : public Pull {
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    [[maybe_unused]] const int drawn = std::rand();  // NOLINT: the mistake
    return Pull::losses(z1, z2);
  }
};

class KeepsGraph final : public Pull {  // a mean of embeddings with all that led to it
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    centre_ = host().all_reduce_sum(z1.sum(0));
    return Pull::losses(z1, z2);
  }
  void visit_state(gh::State& state) override {
    Pull::visit_state(state);
    state.tensor("centre", centre_);
  }

 private:
  at::Tensor centre_;
};

class ClipsInStep final : public Pull {  // gradients there may be scaled, and are of one rank
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    Pull::step(batch, step);
    const at::NoGradGuard no_grad;
    for (const gh::NamedTensor& p : encoder()->parameters())
      if (p.tensor.grad().defined()) p.tensor.mutable_grad().clamp_(-1e-3, 1e-3);
  }
};

class DropsGh final : public Pull {
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    step.harmonize(z1, z2);
    step.backward(losses(step.project(z1), step.project(z2)).mean());
  }
};

class NeverGh final : public Pull {
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    step.backward(losses(step.project(z1), step.project(z2)).mean());
  }
};

class TracksTwice final : public Pull {
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    learn_from(step, step.harmonize(z2, z1), z1, z2);
  }
};

class DetachedGh final : public Pull {
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    step.backward(losses(step.project(z1), step.project(z2)).mean() +
                  step.harmonize(z1.detach(), z2.detach()));
  }
};

class GathersForGh final : public Pull {  // rows of other ranks are not of this batch
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    step.backward(losses(step.project(z1), step.project(z2)).mean() +
                  step.harmonize(host().all_gather(z1), host().all_gather(z2)));
  }
};

class AnyViews final : public Pull {  // takes a recipe of one view
 public:
  using Pull::Pull;
  void check(const gh::RunFacts&, gh::Complaints&) const override {}
};

class FullBatches final : public Pull {  // takes the last batch to be as large as the first
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    if (!weights_.defined()) weights_ = at::ones({z1.size(0)}, z1.options().requires_grad(false));
    return Pull::losses(z1, z2) * weights_;
  }

 private:
  at::Tensor weights_;
};

class SingleOnly final : public Pull {  // makes float32, whatever the recipe's dtype
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return Pull::losses(z1.matmul(at::eye(z1.size(1), at::kFloat)), z2);
  }
};

class SpoilsViews final : public Pull {
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    at::Tensor(batch.views[0]).mul_(0.5);
    Pull::step(batch, step);
  }
};

class CentresEmbeddings final : public Pull {  // also where evaluators ask
 public:
  using Pull::Pull;
  at::Tensor embed(const at::Tensor& x) override {
    const at::Tensor z = Pull::embed(x);
    return z - z.mean(0);
  }
};

class MisspeltKey final : public Pull {
 public:
  using Pull::Pull;
  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    Pull::check(facts, out);
    if (facts.samples < 8) out.add("embeding", "more than there are samples");
  }
};

class ThrowsInCheck final : public Pull {
 public:
  using Pull::Pull;
  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    Pull::check(facts, out);
    gh::require(facts.samples > 8, gh::ErrorCode::invalid_param, "too few samples");
  }
};

class OddLogName final : public Pull {
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    host().log("Mean Norm", z1.norm().item<double>());
    return Pull::losses(z1, z2);
  }
};

class StrongBeyondOne final : public Pull {
 public:
  using Pull::Pull;
  void end_epoch(gh::Host& host) override {
    if (!host.facts().per_sample.empty())
      host.publish_per_sample("strength", at::ones({host.facts().samples}) * 2);
  }
};

class CountsInStatic final : public Pull {
 public:
  using Pull::Pull;
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    static int64_t calls = 0;
    return Pull::losses(z1, z2) * (1 + static_cast<double>(++calls) / 100);
  }
};

class TeacherForgotten final : public Pull {  // evaluators see a network that is no state
 public:
  using Pull::Pull;
  void build(gh::Host& host) override {
    Pull::build(host);
    teacher_ = host.make_backbone("teacher", nullptr);
    teacher_->requires_grad(false);
  }
  void after_update(gh::Host&) override { gh::average_into(*teacher_, *Pull::encoder(), 0.9); }
  void train(bool on) override {
    Pull::train(on);
    teacher_->train(on);
  }
  std::shared_ptr<gh::Encoder> encoder() override { return teacher_; }

 private:
  std::shared_ptr<gh::Encoder> teacher_;
};

class ReducesAccumulated final : public Pull {  // which a host that accumulates cannot
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    Pull::step(batch, step);
    step.reduce_gradients();
  }
};

class TrainsItself final : public Pull {  // moves weights, as if there were no optimiser
 public:
  using Pull::Pull;
  void step(const gh::Batch& batch, gh::Step& step) override {
    Pull::step(batch, step);
    const at::NoGradGuard no_grad;
    for (const gh::NamedTensor& p : encoder()->parameters()) at::Tensor(p.tensor).mul_(0.999);
  }
};

class TwinLearns final : public Pull {  // gradients nobody uses
 public:
  using Pull::Pull;
  void build(gh::Host& host) override {
    Pull::build(host);
    twin_ = host.make_backbone("twin", nullptr);
  }
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    learn_from(step, twin_->forward(batch.views[0]).pow(2).mean(), z1, z2);
  }
  void train(bool on) override {
    Pull::train(on);
    twin_->train(on);
  }
  void visit_state(gh::State& state) override {
    Pull::visit_state(state);
    twin_->visit_state(state, "twin");
  }

 private:
  std::shared_ptr<gh::Encoder> twin_;
};

class RareChoice final : public Pull {  // reads a parameter that it did not declare, if asked to
 public:
  explicit RareChoice(const gh::Params& params)
      : Pull(params), tilt_(params.text("mode") == "tilted" ? params.real("tilt") : 0) {}
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return Pull::losses(z1, z2) * (1 + tilt_);
  }

 private:
  double tilt_;
};

// ---- structures

class Coincident final : public gh::Structure {
 public:
  explicit Coincident(const gh::Params&) {}
  at::Tensor points(int64_t width, gh::Random) const override {
    const at::Tensor axes = at::eye(width, at::kDouble);
    return at::cat({axes, axes});
  }
};

class GlobalPoints final : public gh::Structure {  // reseeds, and so gives the same each time
 public:
  explicit GlobalPoints(const gh::Params&) {}
  at::Tensor points(int64_t width, gh::Random) const override {
    if (!points_.defined() || points_.size(1) != width) {
      const at::Tensor p = at::randn({4, width}, at::kDouble);
      points_ = p / p.norm(2, 1, true);
    }
    return points_;
  }

 private:
  static inline at::Tensor points_;  // NOLINT: what it covers up
};

// ---- allocators

class SpoilsPrior final : public gh::Allocator {
 public:
  explicit SpoilsPrior(const gh::Params&) {}
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    if (request.prior.defined()) at::Tensor(request.prior).add_(1e-3);
    return request.logits.softmax(1);
  }
};

class FitForgotten final : public gh::Allocator {  // what fit() found is no state
 public:
  explicit FitForgotten(const gh::Params&) {}
  int64_t fit_every() const override { return 1; }
  at::Tensor fit(const gh::FitRequest& request, gh::AssignReport&) override {
    bias_ = request.table.mean(0);
    return {};
  }
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    return (bias_.defined() ? request.logits - bias_.to(request.logits.scalar_type())
                            : request.logits)
        .softmax(1);
  }

 private:
  at::Tensor bias_;
};

class NeedsCompany final : public gh::Allocator {  // standardises over rows: of one, NaN
 public:
  explicit NeedsCompany(const gh::Params&) {}
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    const at::Tensor& x = request.logits;
    return ((x - x.mean(0)) / (x - x.mean(0)).pow(2).mean(0).sqrt()).softmax(1);
  }
};

// ---- backbones

class SomeLayer : public gh::Encoder {
 public:
  explicit SomeLayer(const gh::BackboneRequest& request) : SomeLayer(request, *request.layers) {}
  SomeLayer(const gh::BackboneRequest& request, gh::LayerFactory& layers) {
    int64_t inputs = 1;
    for (const int64_t n : request.sample_shape) inputs *= n;
    random_ = request.random;
    linear_ = add_child("linear", layers.linear({.in = inputs, .out = 4}, random_));
  }
  int64_t features() const override { return 4; }
  at::Tensor forward(const at::Tensor& x) override { return linear_->forward(x.flatten(1)); }

 protected:
  gh::Random random_{0};
  std::shared_ptr<gh::Layer> linear_;
};
template <class Made>
class Makes final : public gh::Backbone {
 public:
  explicit Makes(const gh::Params&) {}
  std::shared_ptr<gh::Encoder> make(const gh::BackboneRequest& request) const override {
    return std::make_shared<Made>(request);
  }
};

class Unregistered final : public SomeLayer {  // a tensor that no checkpoint sees
 public:
  explicit Unregistered(const gh::BackboneRequest& request)
      : SomeLayer(request), offset_(at::empty({4})) {
    random_.fill_normal(offset_, 0, 1);
  }
  at::Tensor forward(const at::Tensor& x) override {
    return SomeLayer::forward(x) + offset_.to(x.scalar_type());
  }

 private:
  at::Tensor offset_;
};

class AlwaysBatch final : public SomeLayer {  // statistics of the batch, also in evaluation mode
 public:
  using SomeLayer::SomeLayer;
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor y = SomeLayer::forward(x);
    return y - y.mean(0);
  }
};

class AlwaysCounts final : public SomeLayer {  // running statistics, also in evaluation mode
 public:
  explicit AlwaysCounts(const gh::BackboneRequest& request)
      : SomeLayer(request), mean_(add_buffer("mean", at::zeros({4}))) {}
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor y = SomeLayer::forward(x);
    if (mean_.scalar_type() == y.scalar_type()) mean_.mul_(0.9).add_(y.detach().mean(0), 0.1);
    return y;
  }

 private:
  at::Tensor mean_;
};

class SpoilsSamples final : public SomeLayer {
 public:
  using SomeLayer::SomeLayer;
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor(x).clamp_min_(0);
    return SomeLayer::forward(x);
  }
};

class OwnLayers final : public SomeLayer {  // not those it is handed
 public:
  explicit OwnLayers(const gh::BackboneRequest& request)
      : SomeLayer(request, *gh::standard_layers()) {}
};

// ---- data sets

// Twenty numbers of four classes; each mistake is a subclass.
class Numbers : public gh::Split {
 public:
  explicit Numbers(std::string_view split) : split_(split) {}
  int64_t size() const override { return 20; }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return at::arange(20, at::kLong).remainder(4); }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    const std::array<float, 2> values = {static_cast<float>(index), split_ == "train" ? 1.F : 2.F};
    sink.vector(values);
  }
  std::string fingerprint() const override { return "numbers-" + split_; }

 protected:
  std::string split_;
};
template <class Made>
class Opens final : public gh::Dataset {
 public:
  explicit Opens(const gh::Params&) {}
  std::vector<std::string> splits() const override { return {"train", "test"}; }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t) const override {
    return std::make_unique<Made>(split);
  }
};

struct SameFingerprint final : Numbers {
  using Numbers::Numbers;
  std::string fingerprint() const override { return "numbers-20"; }
};
struct TestIsTrain final : Numbers {
  explicit TestIsTrain(std::string_view) : Numbers("train") {}
};
struct LeavesOpen final : Numbers {
  using Numbers::Numbers;
  std::string fingerprint() const override {
    std::fopen("/proc/self/status", "r");  // NOLINT: the mistake
    return Numbers::fingerprint();
  }
};
struct BrokenFile final : Numbers {
  using Numbers::Numbers;
  void read(int64_t index, gh::SampleSink& sink) const override {
    gh::require(index != 19, gh::ErrorCode::io, "number-19.bin: unexpected end");
    Numbers::read(index, sink);
  }
};
struct NotANumber final : Numbers {
  using Numbers::Numbers;
  void read(int64_t index, gh::SampleSink& sink) const override {
    const std::array<float, 2> values = {index == 7 ? std::numeric_limits<float>::quiet_NaN() : 0.F,
                                         split_ == "train" ? 1.F : 2.F};
    sink.vector(values);
  }
};
struct FromOne final : Numbers {
  using Numbers::Numbers;
  at::Tensor targets() const override { return Numbers::targets() + 1; }
  std::vector<std::string> class_names() const override { return {"a", "b", "c", "d"}; }
};
struct OneIsLonger final : Numbers {
  using Numbers::Numbers;
  void read(int64_t index, gh::SampleSink& sink) const override {
    const std::array<float, 3> values = {static_cast<float>(index), 1, split_ == "train" ? 1.F : 2};
    sink.vector(std::span(values).first(index == 10 ? 3 : 2));
  }
};
struct CountsReads final : Numbers {
  using Numbers::Numbers;
  void read(int64_t index, gh::SampleSink& sink) const override {
    const std::array<float, 2> values = {static_cast<float>(index), static_cast<float>(++calls_)};
    sink.vector(values);
  }

 private:
  mutable std::atomic<int> calls_ = 0;
};

// ---- evaluators

class SpoilsFeatures final : public gh::Evaluator {
 public:
  explicit SpoilsFeatures(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    at::Tensor x = evaluation.features({}).x;
    x.sub_(x.mean(0));
    evaluation.metric("spread", x.norm().item<double>(), "norm of centred features");
  }
};

class WantsTest final : public gh::Evaluator {  // check() does not say so
 public:
  explicit WantsTest(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    evaluation.metric("norm", evaluation.features({.split = "test"}).x.norm().item<double>(),
                      "norm of features");
  }
};

class Remembers final : public gh::Evaluator {
 public:
  explicit Remembers(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    evaluation.metric("times", ++times_, "how often it was asked");
  }

 private:
  int times_ = 0;
};

class GradientsOff final : public gh::Evaluator {  // and not on again
 public:
  explicit GradientsOff(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    at::GradMode::set_enabled(false);
    evaluation.metric("one", 1, "always 1");
  }
};

class LeavesThread final : public gh::Evaluator {
 public:
  explicit LeavesThread(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(60)); }).detach();
    evaluation.metric("one", 1, "always 1");
  }
};

class EndsProcess final : public gh::Evaluator {
 public:
  explicit EndsProcess(const gh::Params&) {}
  void evaluate(gh::Evaluation&) override { std::raise(SIGSEGV); }
};

class OddMetric final : public gh::Evaluator {
 public:
  explicit OddMetric(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    evaluation.metric("top-1 (%)", 1, "accuracy");
  }
};

class Ragged final : public gh::Evaluator {
 public:
  explicit Ragged(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    const std::vector<std::string> columns = {"class", "accuracy"};
    const std::vector<std::vector<std::string>> rows = {{"ant", "1"}, {"bee"}};
    evaluation.table("classes", "each class", columns, rows);
  }
};

class GivesUp final : public gh::Evaluator {
 public:
  explicit GivesUp(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    const at::Tensor x = evaluation.features({}).x;
    evaluation.metric("corner", x.narrow(1, 0, 4096).sum().item<double>(), "of wide features");
  }
};

constexpr gh::Param kPull[] = {GH_PROJECTOR_PARAMS};
constexpr gh::Param kRare[] = {GH_PROJECTOR_PARAMS,
                               gh::choice("mode", "plain", "plain|tilted", "which")};
template <class Method>
constexpr gh::Component method(const char* id) {
  return gh::describe<Method>(id, "a method with a mistake", kPull);
}
template <class Made>
constexpr gh::Component careless(const char* id) {
  return gh::describe<Made>(id, "a mistake");
}

constexpr gh::Component kComponents[] = {
    method<MeanForgotten>("mean_forgotten"),
    method<MaskForgotten>("mask_forgotten"),
    method<OwnRows>("own_rows"),
    method<LoneCollective>("lone_collective"),
    method<TwinAwake>("twin_awake"),
    method<ShuffledGradient>("shuffled_gradient"),
    method<NeverUnshuffled>("never_unshuffled"),
    method<EmbedsInStep>("embeds_in_step"),
    method<GathersInEmbedAll>("gathers_in_embed_all"),
    method<ProjectsInVain>("projects_in_vain"),
    method<GlobalNoise>("global_noise"),
    method<LibraryNoise>("library_noise"),
    method<KeepsGraph>("keeps_graph"),
    method<ClipsInStep>("clips_in_step"),
    method<DropsGh>("drops_gh"),
    method<NeverGh>("never_gh"),
    method<TracksTwice>("tracks_twice"),
    method<DetachedGh>("detached_gh"),
    method<GathersForGh>("gathers_for_gh"),
    method<AnyViews>("any_views"),
    method<FullBatches>("full_batches"),
    method<SingleOnly>("single_only"),
    method<SpoilsViews>("spoils_views"),
    method<CentresEmbeddings>("centres_embeddings"),
    method<MisspeltKey>("misspelt_key"),
    method<ThrowsInCheck>("throws_in_check"),
    method<OddLogName>("odd_log_name"),
    method<StrongBeyondOne>("strong_beyond_one"),
    method<CountsInStatic>("counts_in_static"),
    method<TeacherForgotten>("teacher_forgotten"),
    method<ReducesAccumulated>("reduces_accumulated"),
    method<TrainsItself>("trains_itself"),
    method<TwinLearns>("twin_learns"),
    gh::describe<RareChoice>("rare_choice", "a method with a mistake", kRare),
    careless<Coincident>("coincident"),
    careless<GlobalPoints>("global_points"),
    careless<SpoilsPrior>("spoils_prior"),
    careless<FitForgotten>("fit_forgotten"),
    careless<NeedsCompany>("needs_company"),
    careless<Makes<Unregistered>>("unregistered"),
    careless<Makes<AlwaysBatch>>("always_batch"),
    careless<Makes<AlwaysCounts>>("always_counts"),
    careless<Makes<SpoilsSamples>>("spoils_samples"),
    careless<Makes<OwnLayers>>("own_layers"),
    careless<Opens<SameFingerprint>>("same_fingerprint"),
    careless<Opens<TestIsTrain>>("test_is_train"),
    careless<Opens<LeavesOpen>>("leaves_open"),
    careless<Opens<BrokenFile>>("broken_file"),
    careless<Opens<NotANumber>>("not_a_number"),
    careless<Opens<FromOne>>("from_one"),
    careless<Opens<OneIsLonger>>("one_is_longer"),
    careless<Opens<CountsReads>>("counts_reads"),
    careless<SpoilsFeatures>("spoils_features"),
    careless<WantsTest>("wants_test"),
    careless<Remembers>("remembers"),
    careless<GradientsOff>("gradients_off"),
    careless<LeavesThread>("leaves_thread"),
    careless<EndsProcess>("ends_process"),
    careless<OddMetric>("odd_metric"),
    careless<Ragged>("ragged"),
    careless<GivesUp>("gives_up"),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .doc = "One mistake a component")
