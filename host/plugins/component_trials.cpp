#include "plugins/component_trials.hpp"

#include "gh/testing/fake_host.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>

namespace gh::host {
namespace {

constexpr int64_t kBatch = 16;
constexpr int64_t kMostSamples = 1024;  // a pass over all of them is quick

RunFacts on_trial(RunFacts facts) {
  facts.samples = std::clamp(facts.samples, kBatch, kMostSamples);
  facts.batch = kBatch;
  facts.accumulate = 1;
  facts.steps_per_epoch = facts.samples / kBatch;
  facts.rank = 0;
  facts.world = 1;
  facts.device = at::kCPU;
  facts.dtype = at::kFloat;
  for (std::vector<int64_t>& shape : facts.view_shapes) shape = {3, 16, 16};
  return facts;
}

// One step of the stage that has begun. True when it projected.
bool run_step(testing::FakeHost& host, SslMethod& method, uint32_t flags) {
  testing::TrainableList trainables;
  method.trainable(trainables);
  method.begin_epoch(host);
  std::vector<at::Tensor> views;
  for (std::size_t v = 0; v < host.facts().view_shapes.size(); ++v)
    views.push_back(host.views_of(v, kBatch, 0));
  Batch batch;
  batch.views = views;
  batch.indices = at::arange(kBatch, at::kLong);
  if (flags & GH_SEES_LABELS)
    batch.labels = batch.indices.remainder(
        std::max<int64_t>(1, static_cast<int64_t>(host.facts().class_counts.size())));
  batch.global_size = kBatch;
  testing::FakeStep step(trainables);
  method.step(batch, step);
  method.before_update(host);
  method.after_update(host);
  ++host.progress().step;
  method.end_epoch(host);
  return step.projected;
}

struct Quiet final : AssignReport {
  void scalar(std::string_view, double) override {}
};

}  // namespace

std::optional<MethodHabits> observe_method(const Make<SslMethod>& make, const RunFacts& run,
                                           uint32_t flags) {
  try {
    testing::FakeHost host(on_trial(run));
    const ComponentPtr<SslMethod> method = make();
    host.serve(*method);
    testing::StageList plan;
    method->plan_stages(host.facts(), plan);
    if (plan.stages.empty()) plan.stages.emplace_back("train", host.facts().epochs);
    method->build(host);
    method->train(true);
    MethodHabits out{.projects = true, .logged = {}};
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
      const auto& [name, epochs] = plan.stages[i];
      host.progress() = {name, static_cast<int64_t>(i), 0, epochs, 0, 0};
      method->begin_stage(host);
      host.progress().steps = epochs * host.facts().steps_per_epoch;
      if (epochs > 0 && !run_step(host, *method, flags)) out.projects = false;
      method->end_stage(host);
    }
    out.logged = host.logged();
    return out;
  } catch (...) {  // whatever it is, the run itself will meet it and say more
    return std::nullopt;
  }
}

std::optional<bool> gives_gradients(const Make<Allocator>& make, const AllocatorFacts& facts,
                                    uint32_t flags) {
  try {
    AssignRequest request;
    request.logits = at::empty({kBatch, facts.points}, at::kFloat);
    Random(2).fill_uniform(request.logits, -1, 1);
    request.logits.set_requires_grad(true);
    request.prior = at::full({facts.points}, 1.0 / static_cast<double>(facts.points), at::kDouble);
    request.indices = at::arange(kBatch, at::kLong);
    if (flags & GH_SEES_LABELS)
      request.labels = request.indices.remainder(std::max<int64_t>(1, facts.classes));
    request.differentiable = true;
    Quiet report;
    return make()->assign(request, report).requires_grad();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return false;
    return std::nullopt;
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace gh::host
