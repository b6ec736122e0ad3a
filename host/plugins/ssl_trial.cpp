#include "plugins/ssl_trial.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <algorithm>

namespace gh::host {
namespace {

constexpr double kRate = 0.01;
constexpr int64_t kEpochs = 2;

RunFacts trial_facts(std::size_t views, int64_t samples, uint32_t flags) {
  RunFacts facts;
  facts.samples = samples;
  facts.batch = SslTrial::kBatch;
  facts.steps_per_epoch = samples / SslTrial::kBatch;
  facts.epochs = 4;
  facts.seed = 1;
  facts.view_shapes.assign(views, {3, 16, 16});
  facts.per_sample = {"strength"};
  facts.harmonized = true;
  facts.harmonize_mode = "reference";
  facts.harmonize_apply = "loss";
  facts.drop_last = true;
  facts.convolution = "auto";
  if (flags & GH_SEES_LABELS)
    facts.class_counts.assign(SslTrial::kClasses, samples / SslTrial::kClasses);
  return facts;
}

void report(const std::vector<std::string>& faults, Findings& out) {
  for (const std::string& fault : faults) out.violation(fault);
}

// Plain gradient descent; the host's optimisers are not on trial here.
void update(const TrainableList& trainables) {
  const at::NoGradGuard no_grad;
  for (at::Tensor p : trainables.parameters) {
    if (p.grad().defined()) p.sub_(p.grad(), kRate);
    p.mutable_grad() = at::Tensor();
  }
}

}  // namespace

std::string complaints_of(const SslMethod& method, const RunFacts& facts, Findings& out) {
  ComplaintList complaints(out);
  method.check(facts, complaints);
  return complaints.text();
}

std::optional<RunFacts> acceptable_facts(const SslMethod& method, uint32_t flags, Findings& out,
                                         std::string& refusal) {
  for (const bool harmonized : {true, false})
    for (const std::size_t views : {2, 1, 3, 4, 6, 8})
      for (const int64_t samples : {256, 1 << 17}) {
        RunFacts facts = trial_facts(views, samples, flags);
        facts.harmonized = harmonized;
        if (!harmonized) facts.harmonize_mode = facts.harmonize_apply = "";
        const std::string text = complaints_of(method, facts, out);
        if (text.empty()) return facts;
        if (refusal.empty()) refusal = text;
      }
  return std::nullopt;
}

SslTrial::SslTrial(const RunFacts& facts, ComponentPtr<SslMethod> made, uint32_t flags,
                   TrialWay way, FakeHost* other)
    : own_host_(other ? nullptr : std::make_unique<FakeHost>(facts)),
      host(other ? other : own_host_.get()),
      method(std::move(made)),
      flags_(flags),
      way_(std::move(way)) {
  host->serve(*method);
}

void SslTrial::build(Findings& out) {
  out.part("build");
  method->plan_stages(host->facts(), plan_);
  if (plan_.stages.empty()) plan_.stages.emplace_back("train", host->facts().epochs);
  method->build(*host);
  out.expect(method->encoder() != nullptr, "expected an encoder, found null");
  out.expect(
      method->embedding_width() > 0,
      fmt::format("expected a positive embedding_width(), found {}", method->embedding_width()));
}

void SslTrial::begin_stage(std::size_t number, Findings& out) {
  const auto& [name, epochs] = plan_.stages[number];
  out.part(plan_.stages.size() == 1 ? "begin_stage" : "begin_stage of " + name);
  host->progress() = {name, static_cast<int64_t>(number), 0, epochs, 0, 0};
  method->train(true);
  method->begin_stage(*host);
  trainables = {};
  method->trainable(trainables);
  reached_.assign(trainables.parameters.size(), false);
  if (epochs == 0) return;
  report(trainables.faults, out);
  out.expect(!trainables.parameters.empty(), "expected something to train, found nothing");
}

void SslTrial::set_length(Findings& out) {
  out.part("stage_samples");
  const RunFacts& facts = host->facts();
  samples_ = at::arange(facts.samples, at::kLong);
  if (const at::Tensor samples = method->stage_samples(); samples.defined()) {
    const bool good = samples.dim() == 1 && samples.scalar_type() == at::kLong &&
                      samples.numel() > 0 && samples.min().item<int64_t>() >= 0 &&
                      samples.max().item<int64_t>() < facts.samples;
    if (out.expect(good, fmt::format("expected positions below {}, found {}", facts.samples,
                                     describe(samples))))
      samples_ = samples;
  }
  gh::Progress& p = host->progress();
  p.steps = p.epochs * std::max<int64_t>(1, samples_.numel() / facts.batch);
}

Batch SslTrial::batch_of(int64_t i, int64_t rows) {
  const RunFacts& facts = host->facts();
  const int64_t first = (i * facts.world + facts.rank) * rows;
  const std::size_t views = facts.view_shapes.size();
  views_.clear();
  for (std::size_t v = 0; v < views; ++v) views_.push_back(host->views_of(v, rows, first + 1));
  // Who reads a view that is not there meets an undefined tensor, not the end of the process.
  views_.resize(views + 8);
  Batch batch;
  batch.views = std::span(views_).first(views);
  const at::Tensor places = at::arange(first, first + rows, at::kLong);
  batch.indices = samples_.index_select(0, places.remainder(samples_.numel()));
  if (flags_ & GH_SEES_LABELS) batch.labels = batch.indices.remainder(kClasses);
  batch.global_size = rows * facts.world;
  return batch;
}

bool SslTrial::trains_encoder() const {
  return std::ranges::any_of(method->encoder()->parameters(), [&](const NamedTensor& p) {
    return std::ranges::any_of(trainables.parameters,
                               [&](const at::Tensor& t) { return t.is_same(p.tensor); });
  });
}

void SslTrial::call_step(int64_t number, int64_t rows, Findings& out) {
  const Batch batch = batch_of(number, rows);
  std::vector<at::Tensor> given;
  for (const at::Tensor& view : batch.views) given.push_back(view.clone());
  const at::Tensor indices = batch.indices.clone();
  std::vector<at::Tensor> weights;
  for (const at::Tensor& p : trainables.parameters) weights.push_back(p.detach().clone());
  FakeStep step(trainables, host, way_.loss_scale, way_.points);
  step.learns = trains_encoder();
  host->in_step(true);
  method->step(batch, step);
  host->in_step(false);
  report(host->take_faults(), out);
  step.finish(rows);
  report(step.faults, out);
  for (std::size_t k = 0; k < weights.size(); ++k)
    out.expect(identical(weights[k], trainables.parameters[k]),
               "expected step() to leave the weights to the optimiser, found one changed",
               "an update of the method's own belongs into after_update(); a perturbation is taken "
               "back by copies, not by subtracting it again");
  for (const std::string& name : host->collects_gradients(trainables))
    out.violation(fmt::format("expected gradients where something is trained, found that {} "
                              "collects some and is no trainable",
                              name),
                  "a twin without requires_grad(false), or its forward without NoGradGuard");
  out.expect(!step.losses.empty(), "expected a call of backward(), found none",
             "the loss is computed and not handed over");
  for (std::size_t v = 0; v < given.size(); ++v)
    out.expect(identical(given[v], batch.views[v]) && identical(indices, batch.indices),
               "changed the batch it was given", "an operator in place, such as x.mul_()");
  if (step.width != 0)
    out.expect(step.width == method->embedding_width(),
               fmt::format("expected embedding_width() {} at harmonize(), found {}",
                           method->embedding_width(), step.width));
  const bool projects = method->query(kProjects) != nullptr;
  if (projects)
    out.expect(step.projected,
               "answers query(kProjects), so expected Step::project() to be "
               "asked for, found that it never was");
  harmonized = harmonized || step.width != 0;
  losses.insert(losses.end(), step.losses.begin(), step.losses.end());
  for (std::size_t k = 0; k < reached_.size(); ++k)
    reached_[k] = reached_[k] || trainables.parameters[k].grad().defined();
}

void SslTrial::step(int64_t i, Findings& out, int64_t rows) {
  const int64_t calls = host->facts().accumulate;
  out.part(fmt::format("step {}", i));
  for (int64_t call = 0; call < calls; ++call) call_step(i * calls + call, rows / calls, out);
  out.part("before_update");
  method->before_update(*host);
  update(trainables);
  out.part("after_update");
  method->after_update(*host);
  ++host->progress().step;
  report(host->take_faults(), out);
}

void SslTrial::report_gradients(Findings& out) {
  out.part(fmt::format("step {}", kSteps - 1));
  for (std::size_t k = 0; k < reached_.size(); ++k)
    out.expect(reached_[k],
               fmt::format("expected a gradient for each trainable, found none for number {}, {}",
                           k, describe(trainables.parameters[k])),
               "it takes no part in the loss, or detach() or NoGradGuard cut it off");
}

void SslTrial::train(Findings& out, const std::function<void(std::size_t)>& look) {
  build(out);
  for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
    if (stage > 0) {
      out.part("end_stage");
      method->end_stage(*host);
    }
    begin_stage(stage, out);
    if (!trains(stage)) continue;
    set_length(out);
    const int64_t epochs = std::min(kEpochs, host->progress().epochs);
    const int64_t of_epoch = host->progress().steps / host->progress().epochs;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      host->progress().epoch = epoch;
      host->progress().step = epoch * of_epoch;
      out.part("begin_epoch");
      method->begin_epoch(*host);
      report(host->take_faults(), out);
      for (int64_t i = 0; i < kSteps; ++i)
        step(epoch * kSteps + i, out, kBatch / host->facts().world);
      if (epoch + 1 == epochs) {
        report_gradients(out);
        if (look) look(stage);
      }
      out.part("end_epoch");
      method->end_epoch(*host);
      report(host->take_faults(), out);
    }
  }
}

StateMap SslTrial::save(Findings& out) {
  StateMap state;
  method->visit_state(state);
  report(state.faults, out);
  return state;
}

void SslTrial::load(const StateMap& state, Findings& out) {
  StateMap loader = StateMap::loader_of(state);
  method->visit_state(loader);
  report(loader.faults, out);
}

}  // namespace gh::host
