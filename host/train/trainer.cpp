#include "train/trainer.hpp"

#include "train/interrupt.hpp"
#include "train/state_archive.hpp"

#include "gh/error.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace gh::host {
namespace {

class StageList final : public Stages {
 public:
  void add(std::string_view name, int64_t epochs) override {
    require(epochs >= 0, ErrorCode::invalid_param, "stage '", name, "' has ", epochs, " epochs");
    stages.emplace_back(name, epochs);
  }
  std::vector<std::pair<std::string, int64_t>> stages;
};

class TrainableList final : public Trainables {
 public:
  void add(const at::Tensor& parameter, Policy policy, double rate) override {
    require(parameter.requires_grad() && parameter.is_leaf(), ErrorCode::internal,
            "a trained parameter must be a leaf that requires a gradient");
    parameters.push_back({.tensor = parameter, .policy = policy, .rate = rate});
  }
  std::vector<OptimizedParameter> parameters;
};

}  // namespace

// One call of SslMethod::step. World size one, no loss scaling and no accumulation yet, so
// gradients are what backward leaves.
class Trainer::StepRun final : public Step {
 public:
  StepRun(TrainerParts& parts, Optimizer& optimizer, const at::Tensor& indices, int64_t epoch)
      : parts_(parts), optimizer_(optimizer), indices_(indices), epoch_(epoch) {}

  void backward(const at::Tensor& loss) override {
    require(loss.dim() == 0, ErrorCode::shape, "backward() takes a scalar loss, got ",
            loss.sizes());
    require(!reduced_, ErrorCode::internal,
            "backward() between reduce_gradients() and discard_gradients()");
    const double value = loss.item<double>();
    require(std::isfinite(value), ErrorCode::numeric, "the loss is ", value, " in epoch ",
            epoch_ + 1, ", step ", parts_.host.progress().step + 1);
    loss.backward();
    total_ += value;
    called_ = true;
  }
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                       const HarmonizeOptions& options) override {
    if (!parts_.harmonizer) return at::zeros({}, z1.options().requires_grad(false));
    return parts_.harmonizer->term(z1, z2, indices_, options.track != 0, epoch_);
  }
  void reduce_gradients() override { reduced_ = true; }
  void discard_gradients() override {
    optimizer_.zero_grad();
    reduced_ = false;
    total_ = 0;
  }
  void* query(const char*) override { return nullptr; }

  double total_loss() const { return total_; }
  bool called() const { return called_; }

 private:
  TrainerParts& parts_;
  Optimizer& optimizer_;
  const at::Tensor& indices_;
  int64_t epoch_;
  double total_ = 0;
  bool called_ = false;
  bool reduced_ = false;
};

Trainer::Trainer(TrainerParts parts) : parts_(std::move(parts)) {}

std::vector<Trainer::StagePlan> Trainer::plan_stages() const {
  StageList list;
  parts_.method.ask("plan_stages", &SslMethod::plan_stages, parts_.host.facts(), list);
  if (list.stages.empty()) list.add("train", parts_.plan.epochs);
  std::vector<StagePlan> out;
  for (auto& [name, epochs] : list.stages) out.push_back({name, epochs});
  return out;
}

bool Trainer::train() {
  const std::vector<StagePlan> stages = plan_stages();
  parts_.evaluate("start", 0);
  int64_t done = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    begin_stage(stages[i], static_cast<int64_t>(i));
    if (!run_stage(stages[i])) {
      save_state();
      return false;
    }
    parts_.method.ask("end_stage", &SslMethod::end_stage, parts_.host);
    done += stages[i].epochs;
  }
  parts_.console.finish();
  save_state();  // first: an evaluation that fails must not cost what was learnt
  parts_.evaluate("end", done);
  return true;
}

void Trainer::begin_stage(const StagePlan& stage, int64_t index) {
  parts_.loader.reset();
  Progress& progress = parts_.host.progress_now();
  progress = {.stage = stage.name,
              .stage_index = index,
              .epoch = 0,
              .epochs = stage.epochs,
              .step = 0,
              .steps = 0};
  parts_.method.ask("train", &SslMethod::train, true);
  parts_.host.set_stage_samples({});
  parts_.method.ask("begin_stage", &SslMethod::begin_stage, parts_.host);

  TrainableList trainables;
  parts_.method.ask("trainable", &SslMethod::trainable, trainables);
  if (parts_.harmonizer) parts_.harmonizer->trainable(trainables);
  optimizer_ = make_optimizer(parts_.recipe, std::move(trainables.parameters));
  require_complete_state();

  stage_samples_ = parts_.method.ask("stage_samples", &SslMethod::stage_samples);
  parts_.host.set_stage_samples(stage_samples_);
  const int64_t samples = stage_samples_.defined() ? stage_samples_.size(0) : parts_.data.size();
  progress.steps = stage.epochs * parts_.plan.steps_per_epoch(samples);
  require(stage.epochs == 0 || progress.steps > 0, ErrorCode::invalid_param, "stage '", stage.name,
          "' has ", samples, " samples and drops batches shorter than ", parts_.plan.batch,
          "; lower train.batch");
}

void Trainer::require_complete_state() {
  TensorFile file;
  StateSaver method(file, "method");
  parts_.method.ask("visit_state", &SslMethod::visit_state, method);
  if (parts_.harmonizer) {
    StateSaver harmonizer(file, "harmonize");
    parts_.harmonizer->visit_state(harmonizer);
  }
  std::set<const void*> visited;
  for (const auto& entry : file.tensors) visited.insert(entry.second.data_ptr());
  for (const OptimizedParameter& p : optimizer_->parameters())
    require(visited.contains(p.tensor.data_ptr()), ErrorCode::internal,
            "the method trains a parameter of shape ", p.tensor.sizes(),
            " that its visit_state() does not visit");
}

bool Trainer::run_stage(const StagePlan& stage) {
  const Schedule schedule = parts_.plan.schedule_for(parts_.recipe, stage.epochs);
  for (int64_t epoch = 0; epoch < stage.epochs; ++epoch) {
    parts_.host.progress_now().epoch = epoch;
    if (!run_epoch(stage, epoch, schedule.rate(epoch))) return false;
    if (parts_.plan.harmonize && epoch + 1 == parts_.plan.harmonize->tracker.warm_up)
      parts_.evaluate("warm-up", epoch + 1);
  }
  return true;
}

EpochPlan Trainer::plan_of(int64_t epoch) const {
  const RunFacts& facts = parts_.host.facts();
  return {.epoch = epoch,
          .order = shuffled_order(parts_.plan.seed, epoch, parts_.data.size(), stage_samples_),
          .batch = parts_.plan.batch,
          .drop_last = parts_.plan.drop_last,
          .rank = facts.rank,
          .world = facts.world,
          .weights = parts_.host.weights()};
}

bool Trainer::run_epoch(const StagePlan& stage, int64_t epoch, double rate) {
  const auto started = std::chrono::steady_clock::now();
  const double waited = parts_.loader.waited();
  parts_.host.metrics().clear();
  parts_.method.ask("begin_epoch", &SslMethod::begin_epoch, parts_.host);
  fit_allocator(epoch);
  if (parts_.loader.idle()) parts_.loader.begin(plan_of(epoch));
  // The coming epoch is prepared while this one runs, unless its views wait for what the method
  // publishes at the end of this one.
  if (epoch + 1 < stage.epochs && parts_.host.facts().per_sample.empty())
    parts_.loader.begin(plan_of(epoch + 1));
  EpochTime time;
  while (const std::optional<LoadedBatch> batch = parts_.loader.next()) {
    run_step(*batch, rate);
    time.samples += batch->indices.size(0);
    report_skipped(*batch);
    if (InterruptGuard::requested()) return false;
  }
  parts_.method.ask("end_epoch", &SslMethod::end_epoch, parts_.host);
  if (epoch == 0 && !parts_.host.facts().per_sample.empty() && !parts_.host.weights())
    parts_.host.say(Severity::warning,
                    "[views] has boosted operations, but the method publishes no \"strength\": "
                    "every sample has weight 0");
  time.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  time.waited = parts_.loader.waited() - waited;
  write_metrics(epoch, rate, time);
  return true;
}

// Every file is named once; how many there were is a metric of each epoch.
void Trainer::report_skipped(const LoadedBatch& batch) {
  for (const std::string& reason : batch.skipped)
    if (skipped_.insert(reason).second) parts_.host.say(Severity::warning, "skipped: " + reason);
  skipped_now_ += static_cast<int64_t>(batch.skipped.size());
}

void Trainer::fit_allocator(int64_t epoch) {
  if (!parts_.harmonizer || !parts_.harmonizer->wants_fit(epoch)) return;
  const at::Tensor indices =
      stage_samples_.defined() ? stage_samples_ : at::arange(parts_.data.size(), at::kLong);
  const at::Tensor z = parts_.host.embed_all("plain", [&](const at::Tensor& x) {
    return parts_.method.ask("embed", &SslMethod::embed, x);
  });
  parts_.harmonizer->fit(z.to(at::kFloat), indices, parts_.host.random("allocator.fit"));
}

void Trainer::run_step(const LoadedBatch& loaded, double rate) {
  Batch batch;
  batch.views = loaded.views;
  batch.indices = loaded.indices;
  if (parts_.method.sees_labels && parts_.data.targets().defined())
    batch.labels = parts_.data.targets().index_select(0, loaded.indices);
  batch.global_size = loaded.indices.size(0) * parts_.host.facts().world;

  optimizer_->zero_grad();
  StepRun step(parts_, *optimizer_, loaded.indices, loaded.epoch);
  parts_.method.ask("step", &SslMethod::step, batch, step);
  require(step.called(), ErrorCode::internal, "the method's step() never called backward()");
  parts_.host.log("loss", step.total_loss());
  parts_.method.ask("before_update", &SslMethod::before_update, parts_.host);
  optimizer_->step(rate);
  parts_.method.ask("after_update", &SslMethod::after_update, parts_.host);
  if (parts_.harmonizer) parts_.harmonizer->after_update();
  ++parts_.host.progress_now().step;
}

void Trainer::write_metrics(int64_t epoch, double rate, const EpochTime& time) {
  const Progress& progress = parts_.host.progress();
  nlohmann::ordered_json line = {{"stage", progress.stage},
                                 {"epoch", epoch + 1},
                                 {"epochs", progress.epochs},
                                 {"step", progress.step},
                                 {"lr", rate}};
  parts_.host.metrics().write(line);
  if (const int64_t skipped = std::exchange(skipped_now_, 0); skipped > 0)
    line["skipped"] = skipped;
  const double speed = static_cast<double>(time.samples) / std::max(time.seconds, 1e-9);
  line["time"] = {
      {"seconds", time.seconds}, {"samples_per_second", speed}, {"waited_for_data", time.waited}};
  parts_.directory.append_metrics(line);
  parts_.status.running(progress.stage, epoch + 1, progress.epochs);
  parts_.console.tick({.stage = progress.stage,
                       .epoch = epoch + 1,
                       .epochs = progress.epochs,
                       .loss = parts_.host.metrics().mean("loss"),
                       .rate = rate,
                       .samples_per_second = speed,
                       .waiting = time.waited / std::max(time.seconds, 1e-9)});
}

void Trainer::save_state() {
  TensorFile content;
  content.metadata["format"] = "ghhost-state-1";
  StateSaver method(content, "method");
  parts_.method.ask("visit_state", &SslMethod::visit_state, method);
  if (parts_.harmonizer) {
    StateSaver harmonizer(content, "harmonize");
    parts_.harmonizer->visit_state(harmonizer);
  }
  if (optimizer_) {
    StateSaver optimizer(content, "optimizer");
    optimizer_->visit_state(optimizer);
  }
  if (const auto& weights = parts_.host.weights())
    content.tensors.emplace_back("views.strength", at::tensor(*weights, at::kFloat));
  write_safetensors(parts_.directory.path() / "state.safetensors", content);
}

}  // namespace gh::host
