// SSL methods: two training steps of each stage, on random views under a fake host.
#include "plugins/conformance_checks.hpp"
#include "plugins/fake_host.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace gh::host {
namespace {

constexpr int64_t kBatch = 16;
constexpr int64_t kSteps = 2;
constexpr int64_t kClasses = 4;
constexpr double kRate = 0.01;

// One life of a method: built, trained for two steps of each stage, with its state. Members are in the
// order in which they must outlive each other.
struct Trial {
  FakeHost host;
  ComponentPtr<SslMethod> method;
  StageList plan;
  TrainableList trainables;
  std::vector<double> losses;

  Trial(RunFacts facts, ComponentPtr<SslMethod> made)
      : host(std::move(facts)), method(std::move(made)) {
    host.serve(*method);
  }
};

RunFacts trial_facts(std::size_t views, int64_t samples, uint32_t flags) {
  RunFacts facts;
  facts.samples = samples;
  facts.batch = kBatch;
  facts.steps_per_epoch = samples / kBatch;
  facts.epochs = 4;
  facts.seed = 1;
  facts.view_shapes.assign(views, {3, 16, 16});
  facts.per_sample = {"strength"};
  facts.drop_last = true;
  facts.convolution = "auto";
  if (flags & GH_SEES_LABELS) facts.class_counts.assign(kClasses, samples / kClasses);
  return facts;
}

// A run the method has nothing against: two views if it may, and a data set larger than its queue.
std::optional<RunFacts> acceptable_facts(const SslMethod& method, uint32_t flags,
                                         std::string& refusal) {
  for (const std::size_t views : {2, 1, 3, 4, 6, 8})
    for (const int64_t samples : {256, 1 << 17}) {
      ComplaintList complaints;
      RunFacts facts = trial_facts(views, samples, flags);
      method.check(facts, complaints);
      if (complaints.empty()) return facts;
      if (refusal.empty()) refusal = complaints.text();
    }
  return std::nullopt;
}

void report(const std::vector<std::string>& faults, Findings& out) {
  for (const std::string& fault : faults) out.violation(fault);
}

void build(Trial& t, Findings& out) {
  out.part("build");
  t.method->plan_stages(t.host.facts(), t.plan);
  if (t.plan.stages.empty()) t.plan.stages.emplace_back("train", t.host.facts().epochs);
  t.method->build(t.host);
  out.expect(t.method->encoder() != nullptr, "expected an encoder, found null");
  out.expect(
      t.method->embedding_width() > 0,
      fmt::format("expected a positive embedding_width(), found {}", t.method->embedding_width()));
}

// On resume, this is the first stage that begins.
void begin_stage(Trial& t, std::size_t number, Findings& out) {
  const auto& [name, epochs] = t.plan.stages[number];
  out.part(t.plan.stages.size() == 1 ? "begin_stage" : "begin_stage of " + name);
  t.host.progress() = {name, static_cast<int64_t>(number), 0, epochs, 0, 0};
  t.method->train(true);
  t.method->begin_stage(t.host);
  t.trainables = {};
  t.method->trainable(t.trainables);
  if (epochs == 0) return;
  report(t.trainables.faults, out);
  out.expect(!t.trainables.parameters.empty(), "expected something to train, found nothing");
}

// Plain gradient descent; the host's optimisers are not on trial here.
void update(const TrainableList& trainables) {
  const at::NoGradGuard no_grad;
  for (at::Tensor p : trainables.parameters) {
    if (p.grad().defined()) p.sub_(p.grad(), kRate);
    p.mutable_grad() = at::Tensor();
  }
}

// Positions of the stage's samples; the fake data set has any number of them.
at::Tensor set_length(Trial& t, Findings& out) {
  out.part("stage_samples");
  const RunFacts& facts = t.host.facts();
  at::Tensor chosen = at::arange(facts.samples, at::kLong);
  if (const at::Tensor samples = t.method->stage_samples(); samples.defined()) {
    const bool good = samples.dim() == 1 && samples.scalar_type() == at::kLong &&
                      samples.numel() > 0 && samples.min().item<int64_t>() >= 0 &&
                      samples.max().item<int64_t>() < facts.samples;
    if (out.expect(good, fmt::format("expected positions below {}, found {}", facts.samples,
                                     describe(samples))))
      chosen = samples;
  }
  gh::Progress& p = t.host.progress();
  p.steps = p.epochs * std::max<int64_t>(1, chosen.numel() / facts.batch);
  return chosen;
}

void train_steps(Trial& t, uint32_t flags, Findings& out) {
  const at::Tensor samples = set_length(t, out);
  std::vector<bool> reached(t.trainables.parameters.size());
  t.method->begin_epoch(t.host);
  for (int64_t i = 0; i < kSteps; ++i) {
    out.part(fmt::format("step {}", i));
    std::vector<at::Tensor> views;
    for (std::size_t v = 0; v < t.host.facts().view_shapes.size(); ++v)
      views.push_back(t.host.views_of(v, kBatch, i));
    Batch batch;
    batch.views = views;
    const at::Tensor places = at::arange(i * kBatch, (i + 1) * kBatch, at::kLong);
    batch.indices = samples.index_select(0, places.remainder(samples.numel()));
    if (flags & GH_SEES_LABELS) batch.labels = batch.indices.remainder(kClasses);
    batch.global_size = kBatch;
    FakeStep step(t.trainables);
    t.method->step(batch, step);
    report(step.faults, out);
    out.expect(!step.losses.empty(), "expected a call of backward(), found none");
    if (step.width != 0)
      out.expect(step.width == t.method->embedding_width(),
                 fmt::format("expected embedding_width() {} at harmonize(), found {}",
                             t.method->embedding_width(), step.width));
    if (t.method->query(kProjects) != nullptr)
      out.expect(step.projected,
                 "answers query(kProjects), so expected Step::project() to be "
                 "asked for, found that it never was");
    t.losses.insert(t.losses.end(), step.losses.begin(), step.losses.end());
    for (std::size_t k = 0; k < reached.size(); ++k)
      reached[k] = reached[k] || t.trainables.parameters[k].grad().defined();
    t.method->before_update(t.host);
    update(t.trainables);
    t.method->after_update(t.host);
    ++t.host.progress().step;
  }
  t.method->end_epoch(t.host);
  for (std::size_t k = 0; k < reached.size(); ++k)
    out.expect(reached[k],
               fmt::format("expected a gradient for each trainable, found none for number {}, {}",
                           k, describe(t.trainables.parameters[k])));
  report(t.host.faults(), out);
}

// Through all stages; `look` is called in each that trains, after its steps.
void train(Trial& t, uint32_t flags, Findings& out,
           const std::function<void(std::size_t)>& look = {}) {
  build(t, out);
  for (std::size_t i = 0; i < t.plan.stages.size(); ++i) {
    if (i > 0) t.method->end_stage(t.host);
    begin_stage(t, i, out);
    if (t.plan.stages[i].second == 0) continue;
    train_steps(t, flags, out);
    if (look) look(i);
  }
}

StateMap save(Trial& t, Findings& out) {
  StateMap state;
  t.method->visit_state(state);
  report(state.faults, out);
  return state;
}

// In stage `number`, into which `fresh` is resumed.
void check_state(Trial& trained, Trial& fresh, std::size_t number, Findings& out) {
  out.part("visit_state");
  const StateMap saved = save(trained, out);
  for (std::size_t k = 0; k < trained.trainables.parameters.size(); ++k)
    out.expect(saved.visited(trained.trainables.parameters[k]),
               fmt::format("expected every trainable to be visited, found number {}, {}, left out",
                           k, describe(trained.trainables.parameters[k])));
  build(fresh, out);
  begin_stage(fresh, number, out);
  out.part("loading its state");
  StateMap loader = StateMap::loader_of(saved);
  fresh.method->visit_state(loader);
  report(loader.faults, out);
  const std::string difference = saved.difference(save(fresh, out));
  out.expect(difference.empty(), "expected the state that was saved, found that " + difference);
}

void check_embedding(Trial& t, Findings& out) {
  out.part("embed");
  const at::NoGradGuard no_grad;
  t.method->train(false);
  const at::Tensor z = t.method->embed(t.host.views_of(0, 3, 99));
  const bool shaped =
      z.defined() && z.dim() == 2 && z.size(0) == 3 && z.size(1) == t.method->embedding_width();
  out.expect(shaped && all_finite(z), fmt::format("expected finite [3, {}], found {}",
                                                  t.method->embedding_width(), describe(z)));
}

void check_clone(Trial& t, Findings& out) {
  out.part("clone_encoder");
  const at::NoGradGuard no_grad;
  const auto encoder = t.method->encoder(), clone = t.method->clone_encoder(t.host);
  if (!out.expect(encoder && clone && encoder != clone,
                  "expected an encoder of its own, found none"))
    return;
  encoder->train(false);
  clone->train(false);
  const at::Tensor x = t.host.views_of(0, 3, 100);
  out.expect(clone->forward(x).allclose(encoder->forward(x), 1e-4, 1e-5),
             "expected the features of encoder(), found others");
}

// Weights of a plain encoder go in and come out again.
void check_loading(Trial& trained, Trial& fresh, Findings& out) {
  out.part("load_encoder");
  void* const loader = fresh.method->query(EncoderLoader::kId);
  if (loader == nullptr) return;
  const auto plain = trained.method->clone_encoder(trained.host);
  static_cast<EncoderLoader*>(loader)->load_encoder(*plain);
  const at::NoGradGuard no_grad;
  const auto copy = fresh.method->clone_encoder(fresh.host);
  plain->train(false);
  copy->train(false);
  const at::Tensor x = trained.host.views_of(0, 3, 101);
  out.expect(copy->forward(x).allclose(plain->forward(x), 1e-4, 1e-5),
             "expected clone_encoder() to give back what was loaded, found other features");
}

}  // namespace

void check_ssl(const Make<SslMethod>& make, uint32_t flags, Findings& out) {
  out.part("check");
  std::string refusal;
  const auto facts = acceptable_facts(*make(), flags, refusal);
  if (!facts) return out.remark("refuses every trial run: " + refusal);

  RunFacts other = *facts;
  other.seed += 1;
  Trial first(*facts, make());
  train(first, flags, out, [&](std::size_t stage) {
    Trial fresh(other, make());
    check_state(first, fresh, stage, out);
  });
  if (!(flags & GH_NONDETERMINISTIC)) {
    Trial second(*facts, make());
    train(second, flags, out);
    out.part("same seed again");
    out.expect(first.losses == second.losses, "expected the same losses, found others");
    const std::string difference = save(first, out).difference(save(second, out));
    out.expect(difference.empty(), "expected the same state, found that " + difference);
  }
  check_embedding(first, out);
  check_clone(first, out);
  Trial empty(other, make());
  build(empty, out);
  begin_stage(empty, 0, out);
  check_loading(first, empty, out);
}

}  // namespace gh::host
