// Drives an SSL method of a built plugin with networks that are what a test says: encoders by
// purpose, heads that answer with given tensors, state that is set and read by name.
#pragma once

#include "gh/testing/fake_host.hpp"
#include "gh/testing/plugins.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gh::testing {

// Hands its input on, or answers with one given tensor after the other, again and again.
class StandInEncoder final : public Encoder {
 public:
  explicit StandInEncoder(int64_t width, std::vector<at::Tensor> answers = {})
      : width_(width), answers_(std::move(answers)) {}
  at::Tensor forward(const at::Tensor& x) override {
    return answers_.empty() ? x * 1 : answers_[next_++ % answers_.size()];  // no leaf
  }
  int64_t features() const override { return width_; }

 private:
  int64_t width_;
  std::vector<at::Tensor> answers_;
  std::size_t next_ = 0;
};

class LinearEncoder final : public Encoder {
 public:
  LinearEncoder(const at::Tensor& weight, const at::Tensor& bias)
      : weight_(add_parameter("weight", weight.clone())),
        bias_(add_parameter("bias", bias.clone())) {}
  at::Tensor forward(const at::Tensor& x) override { return at::linear(x, weight_, bias_); }
  int64_t features() const override { return weight_.size(0); }

 private:
  at::Tensor weight_, bias_;
};

// Heads whose last linear layer, told by its width, answers with given tensors; all other layers
// hand on what they get.
class StandInLayers final : public LayerFactory {
 public:
  StandInLayers(int64_t width, std::vector<at::Tensor> answers)
      : width_(width), answers_(std::move(answers)) {}
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random&) override {
    return std::make_shared<StandInEncoder>(
        spec.out, spec.out == width_ ? answers_ : std::vector<at::Tensor>{});
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random&) override {
    return std::make_shared<StandInEncoder>(spec.out);
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec&) override {
    struct None final : Normalization {
      at::Tensor forward(const at::Tensor& x) override { return x; }
      at::Tensor forward_add(const at::Tensor& x, const at::Tensor& y) override { return x + y; }
    };
    return std::make_shared<None>();
  }

 private:
  int64_t width_;
  std::vector<at::Tensor> answers_;
};

class TrialHost final : public FakeHost {
 public:
  TrialHost(RunFacts facts, int64_t width) : FakeHost(std::move(facts)), width_(width) {}

  std::map<std::string, std::shared_ptr<Encoder>, std::less<>> encoders;  // others hand on
  std::shared_ptr<LayerFactory> heads;                                    // null: real layers
  std::map<std::string, std::vector<double>, std::less<>> values;         // logged
  std::string said;
  at::Tensor whole_set;  // of embed_all(), [samples, …]; undefined: random views

  std::shared_ptr<Encoder> make_backbone(std::string_view purpose, LayerFactory*) override {
    const auto found = encoders.find(purpose);
    return found != encoders.end() ? found->second : std::make_shared<StandInEncoder>(width_);
  }
  LayerFactory& layers() override { return heads ? *heads : FakeHost::layers(); }
  void log(std::string_view name, double value) override {
    FakeHost::log(name, value);
    values[std::string(name)].push_back(value);
  }
  at::Tensor embed_all(std::string_view views,
                       const std::function<at::Tensor(const at::Tensor&)>& embed) override {
    if (!whole_set.defined()) return FakeHost::embed_all(views, embed);
    const at::NoGradGuard no_grad;
    return embed(whole_set);
  }
  void say(Severity, std::string_view message) override { said += std::string(message) + "\n"; }

 private:
  int64_t width_;
};

// State by name. Loading changes what is in it, and leaves the rest alone.
class NamedState final : public State {
 public:
  explicit NamedState(bool loading = false) : loading_(loading) {}
  bool loading() const override { return loading_; }
  void tensor(std::string_view name, at::Tensor& value) override {
    if (!loading_) tensors[std::string(name)] = value.defined() ? value.detach().clone() : value;
    const auto found = tensors.find(name);
    if (!loading_ || found == tensors.end()) return;
    if (value.defined() && value.sizes() == found->second.sizes())
      value.detach().copy_(found->second);
    else
      value = found->second.clone();
  }
  void integer(std::string_view name, int64_t& value) override {
    if (!loading_) integers[std::string(name)] = value;
    const auto found = integers.find(name);
    if (loading_ && found != integers.end()) value = found->second;
  }
  void real(std::string_view, double&) override {}
  void text(std::string_view, std::string&) override {}

  std::map<std::string, at::Tensor, std::less<>> tensors;
  std::map<std::string, int64_t, std::less<>> integers;

 private:
  bool loading_;
};

// A method, its host and its parameters; build() before step().
struct MethodTrial {
  // As the facts of one batch of views [B, …]. Encoders that the test does not give hand on what
  // they get: [B, width].
  MethodTrial(Loaded<SslMethod> made, const std::vector<at::Tensor>& views, uint64_t seed = 0)
      : MethodTrial(std::move(made), facts_of(views, seed), views.at(0).size(1)) {}
  // `width`: of the stand-in encoders' features.
  MethodTrial(Loaded<SslMethod> made, const RunFacts& facts, int64_t width)
      : host(facts, width), method(std::move(made)) {}

  static RunFacts facts_of(const std::vector<at::Tensor>& views, uint64_t seed = 0) {
    RunFacts facts;
    facts.batch = facts.samples = views.at(0).size(0);
    facts.steps_per_epoch = facts.epochs = 1;
    facts.seed = seed;
    facts.dtype = views[0].scalar_type();
    for (const at::Tensor& view : views)
      facts.view_shapes.emplace_back(view.sizes().begin() + 1, view.sizes().end());
    return facts;
  }

  MethodTrial& build() {
    plan.stages.clear();
    method->plan_stages(host.facts(), plan);
    if (plan.stages.empty()) plan.stages.emplace_back("train", host.facts().epochs);
    method->build(host);
    return begin_stage(0);
  }
  // As a resumed run does, which begins no stage before it.
  MethodTrial& begin_stage(std::size_t number) {
    const auto& [name, epochs] = plan.stages.at(number);
    host.progress() = {name, static_cast<int64_t>(number), 0, epochs, 0, 0};
    method->train(true);
    method->begin_stage(host);
    trained.parameters.clear();
    method->trainable(trained);
    return *this;
  }
  // Ends the stage that runs; the next one begins.
  MethodTrial& next_stage() {
    method->end_stage(host);
    return begin_stage(static_cast<std::size_t>(host.progress().stage_index) + 1);
  }
  // The losses handed to backward(), added up. Gradients add up in the views and parameters. The
  // batch is the first samples unless `indices` says which.
  double step(const std::vector<at::Tensor>& views, const at::Tensor& labels = {},
              const at::Tensor& indices = {}) {
    Batch batch;
    batch.views = views;
    batch.labels = labels;
    batch.indices = indices.defined() ? indices : at::arange(views.at(0).size(0), at::kLong);
    batch.global_size = views.at(0).size(0);
    FakeStep step(trained);
    method->step(batch, step);
    harmonized = step.width > 0;
    double sum = 0;
    for (const double loss : step.losses) sum += loss;
    return sum;
  }
  // What the optimiser and the host do between steps, but for moving parameters.
  void finish_step() {
    method->before_update(host);
    method->after_update(host);
    ++host.progress().step;
  }

  TrialHost host;
  Loaded<SslMethod> method;
  StageList plan;
  TrainableList trained;
  bool harmonized = false;  // the last step called harmonize()
};

// The state after a save, a fresh method of another seed, and a load; "" when nothing differs.
inline std::string state_difference(MethodTrial& from, MethodTrial& into) {
  StateMap saved;
  from.method->visit_state(saved);
  StateMap loader = StateMap::loader_of(saved);
  into.method->visit_state(loader);
  StateMap again;
  into.method->visit_state(again);
  return loader.faults.empty() ? saved.difference(again) : loader.faults[0];
}

}  // namespace gh::testing
