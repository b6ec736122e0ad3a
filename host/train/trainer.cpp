#include "train/trainer.hpp"

#include "machine/memory.hpp"
#include "optimize/gradient_norm.hpp"
#include "train/autocast.hpp"
#include "train/last_batch.hpp"
#include "train/reported_metrics.hpp"
#include "train/step_memory.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace gh::host {
namespace {

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

Trainer::Trainer(TrainerParts parts)
    : parts_(std::move(parts)),
      checkpointing_({.plan = parts_.plan,
                      .method = parts_.method,
                      .harmonizer = parts_.harmonizer,
                      .notebook = parts_.notebook,
                      .ranks = parts_.ranks,
                      .directory = parts_.directory,
                      .store = parts_.checkpoints,
                      .identity = parts_.identity,
                      .log = parts_.log}),
      journal_({.notebook = parts_.notebook,
                .ranks = parts_.ranks,
                .directory = parts_.directory,
                .status = parts_.status,
                .console = parts_.console}),
      scaler_(parts_.plan.autocast == at::kHalf) {}

// ---- stages ----

bool Trainer::train(const TensorFile* from, const std::function<void()>& loaded,
                    std::optional<int64_t> until) {
  until_ = until;
  if (!from && !evaluate({.name = "start"})) return false;  // nothing to save: it will start again
  const auto cut = [&] {
    parts_.ranks.barrier();
    checkpointing_.rewind_to(*from, position_.total);
    loaded();
  };
  try {
    if (!run_stages(from, cut)) {
      save({});
      parts_.ranks.barrier();  // nobody leaves before it is written
      return false;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::interrupted) throw;
    // Half a step, or half a fit, can neither be saved nor undone.
    parts_.console.finish();
    parts_.log.say(Severity::warning,
                   std::string(error.what()) + "; what follows the last checkpoint is done again");
    return false;
  }
  parts_.console.finish();
  save({});  // first: an evaluation that is stopped must not cost what was learnt
  return evaluate({.name = "end",
                   .epochs = epochs_done(),
                   .step = position_.total,
                   .last = true,
                   .harmonized = harmonized()});
}

// False when a signal came, which all ranks know.
bool Trainer::evaluate(const EvaluationMoment& moment) {
  try {
    parts_.evaluate(moment);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::interrupted) throw;
    return false;
  }
}

bool Trainer::run_stages(const TensorFile* from, const std::function<void()>& loaded) {
  const auto count = static_cast<int64_t>(parts_.stages.size());
  if (from) position_ = read_position(*from, count);
  if (position_.stage == count) {  // trained to the end, and stopped after that
    begin_stage(count - 1, from);
    loaded();
    return true;
  }
  while (position_.stage < count) {
    begin_stage(position_.stage, from);
    if (from) loaded();
    if (from && reached()) return false;
    if (from && position_.steps == 0 && position_.epochs > 0 && !after_epoch()) return false;
    from = nullptr;
    if (!run_stage()) return false;
    if (examination_) return true;
    parts_.method.call("end_stage", &SslMethod::end_stage, parts_.host);
    position_ = {.stage = position_.stage + 1, .epochs = 0, .steps = 0, .total = position_.total};
  }
  return true;
}

void Trainer::restore_only(const TensorFile& from) {
  const auto count = static_cast<int64_t>(parts_.stages.size());
  position_ = read_position(from, count);
  begin_stage(std::min(position_.stage, count - 1), &from);
}

StepExamination Trainer::replay(const TensorFile* from, int64_t step) {
  replayed_ = step;
  run_stages(from, [] {});
  parts_.console.finish();
  require(examination_.has_value(), ErrorCode::numeric, "training ended before step ", step + 1);
  return *examination_;
}

int64_t Trainer::epochs_done() const {
  const auto stage = static_cast<std::size_t>(position_.stage);
  if (stage < parts_.stages.size()) return parts_.stages[stage].first + position_.epochs;
  return parts_.stages.back().first + parts_.stages.back().epochs;
}

bool Trainer::harmonized() const {
  if (!parts_.plan.harmonize) return false;
  int64_t trained = position_.epochs + (position_.steps > 0 ? 1 : 0);
  for (int64_t i = position_.stage; trained == 0 && i > 0; --i)
    trained = parts_.stages[static_cast<std::size_t>(i - 1)].epochs;
  return trained > parts_.plan.harmonize->tracker.warm_up;
}

void Trainer::begin_stage(int64_t index, const TensorFile* from) {
  stage_now_ = index;
  parts_.loader.reset();
  Notebook& notebook = parts_.notebook;
  notebook.progress = {.stage = stage().name,
                       .stage_index = index,
                       .epoch = 0,
                       .epochs = stage().epochs,
                       .step = 0,
                       .steps = 0};
  parts_.method.call("train", &SslMethod::train, true);
  notebook.stage_samples.reset();
  notebook.first_epoch = stage().first;
  parts_.method.call("begin_stage", &SslMethod::begin_stage, parts_.host);
  make_optimizer_of_stage();
  if (from) checkpointing_.load(*from, state());

  notebook.stage_samples = parts_.method.call("stage_samples", &SslMethod::stage_samples);
  if (parts_.harmonizer) parts_.harmonizer->begin_stage(notebook.stage_samples);
  notebook.progress.steps = stage().epochs * parts_.plan.steps_per_epoch(notebook.stage_size());
  require(stage().epochs == 0 || notebook.progress.steps > 0, ErrorCode::invalid_param, "stage '",
          stage().name, "' has ", notebook.stage_size(), " samples and drops batches shorter than ",
          parts_.plan.batch, "; lower train.batch");
  // A checkpoint was made where there was memory enough.
  if (!from && notebook.facts.device.is_cpu())
    require_memory(memory_of_step(parts_.plan, notebook.facts, notebook.stage_size(),
                                  optimizer_->parameters()),
                   available_memory());
}

void Trainer::make_optimizer_of_stage() {
  reducer_.reset();  // a parameter has one at a time, and stages may train the same
  TrainableList trainables;
  parts_.method.call("trainable", &SslMethod::trainable, trainables);
  if (parts_.harmonizer) parts_.harmonizer->trainable(trainables);
  optimizer_ = make_optimizer(parts_.plan.optimizer, std::move(trainables.parameters));
  trained_ = name_parameters(*optimizer_, parts_.method, parts_.harmonizer);
  if (parts_.plan.world == 1) return;
  std::vector<at::Tensor> parameters;
  for (const OptimizedParameter& p : optimizer_->parameters()) parameters.push_back(p.tensor);
  reducer_ = std::make_unique<GradientReducer>(parts_.ranks, std::move(parameters));
}

// ---- epochs ----

bool Trainer::run_stage() {
  const std::string lone = lone_last_sample(parts_.plan, parts_.notebook.stage_size());
  require(stage().epochs == 0 || lone.empty() || !trained_.batch_statistics,
          ErrorCode::invalid_param, "stage '", stage().name, "': ", lone,
          ". Batch normalisation needs two");
  const Schedule schedule = parts_.plan.schedule_for(stage().epochs);
  while (position_.epochs < stage().epochs) {
    parts_.notebook.progress.epoch = position_.epochs;
    if (!run_epoch(schedule)) return false;
    if (examination_) return true;
    ++position_.epochs;
    position_.steps = 0;
    const bool last = position_.epochs == stage().epochs;
    if (!replayed_ && (last || position_.epochs % parts_.plan.checkpoint_every == 0))
      save(parts_.notebook.metrics.mean(parts_.plan.best_metric));
    if (stopping_ || reached() || !after_epoch()) return false;
  }
  return true;
}

bool Trainer::after_epoch() {
  if (replayed_) return true;
  EvaluationMoment moment{.name = "epoch",
                          .epochs = epochs_done(),
                          .step = position_.total,
                          .harmonized = harmonized()};
  moment.last = position_.stage + 1 == static_cast<int64_t>(parts_.stages.size()) &&
                position_.epochs == stage().epochs;
  moment.warm_up =
      parts_.plan.harmonize && position_.epochs == parts_.plan.harmonize->tracker.warm_up;
  checkpointing_.begin_repeatable_results();
  if (!evaluate(moment)) return false;
  moment.name = "warm-up";
  if (moment.warm_up && !evaluate(moment)) return false;
  checkpointing_.end_repeatable_results();
  return true;
}

EpochPlan Trainer::plan_of(int64_t epoch, int64_t first_step) const {
  const Notebook& notebook = parts_.notebook;
  // Counted over all stages, so that a later one repeats neither order nor views of an earlier one.
  const int64_t of_run = stage().first + epoch;
  at::Tensor order =
      shuffled_order(parts_.plan.seed, of_run, parts_.data.size(), notebook.stage_samples);
  if (parts_.plan.drop_last)
    order = order.narrow(0, 0, order.size(0) / parts_.plan.batch * parts_.plan.batch);
  return {.epoch = of_run,
          .order = order,
          .batch = parts_.plan.batch / parts_.plan.accumulate,
          .first_batch = first_step * parts_.plan.accumulate,
          .rank = notebook.facts.rank,
          .world = notebook.facts.world,
          .weights = first_step > 0 ? notebook.epoch_weights : notebook.weights};
}

void Trainer::begin_epoch(int64_t epoch) {
  parts_.notebook.metrics.clear();
  parts_.method.call("begin_epoch", &SslMethod::begin_epoch, parts_.host);
  fit_allocator(epoch);
  parts_.notebook.epoch_weights = parts_.notebook.weights;
}

bool Trainer::run_epoch(const Schedule& schedule) {
  const int64_t epoch = position_.epochs;
  const Notebook& notebook = parts_.notebook;
  if (position_.steps == 0) begin_epoch(epoch);
  if (parts_.loader.idle()) parts_.loader.begin(plan_of(epoch, position_.steps));
  // The coming epoch is prepared while this one runs, unless its views wait for what the method
  // publishes at the end of this one.
  if (epoch + 1 < stage().epochs && notebook.facts.per_sample.empty())
    parts_.loader.begin(plan_of(epoch + 1, 0));
  const int64_t steps = parts_.plan.steps_per_epoch(notebook.stage_size());
  const int64_t calls = parts_.plan.calls_per_epoch(notebook.stage_size());
  Pace pace(notebook.progress.steps, notebook.progress.step, parts_.loader.waited());
  double rate = 0;
  while (position_.steps < steps) {
    const double part = static_cast<double>(position_.steps) / static_cast<double>(steps);
    rate = schedule.rate(static_cast<double>(epoch) + part);
    const int64_t left = calls - position_.steps * parts_.plan.accumulate;
    const Next next = run_step(std::min(parts_.plan.accumulate, left), rate, pace);
    if (examination_) return true;
    stopping_ = next == Next::stop;
    // After the last step the epoch is ended first: what belongs to its end is not done again.
    if (stopping_ && position_.steps < steps) return false;
    if (next == Next::save && position_.steps < steps) save({});
  }
  require(!parts_.loader.next(), ErrorCode::internal, "the loader has more batches than planned");
  end_epoch(rate, pace);
  return true;
}

void Trainer::end_epoch(double rate, const Pace& pace) {
  parts_.method.call("end_epoch", &SslMethod::end_epoch, parts_.host);
  if (position_.epochs == 0) warn_after_first_epoch();
  EpochMetrics& metrics = parts_.notebook.metrics;
  std::optional<SurrogateStatistics> surrogates;
  if (parts_.harmonizer) surrogates = parts_.harmonizer->end_epoch(position_.epochs);
  metrics.reduce(parts_.ranks);
  if (surrogates && parts_.harmonizer->weight(position_.epochs) > 0)
    for (const std::string& text : watch_.look(*surrogates, metrics.mean("allocator_residual")))
      parts_.log.say(Severity::warning, text);
  if (!replayed_) journal_.after_epoch(position_, rate, pace);
}

void Trainer::warn_after_first_epoch() {
  const Notebook& notebook = parts_.notebook;
  if (!notebook.facts.per_sample.empty() && !notebook.weights)
    parts_.log.say(Severity::warning,
                   "[views] has boosted operations, but the method publishes no \"strength\": "
                   "every sample has weight 0");
  if (stage_now_ == 0 && !reported_by_host(parts_.plan) &&
      std::isnan(notebook.metrics.mean(parts_.plan.best_metric)))
    parts_.log.say(Severity::warning, "nothing reported \"" + parts_.plan.best_metric +
                                          "\" (checkpoint.metric) in the first epoch; no "
                                          "checkpoint is the best by it");
}

// Every file is named once; how many there were is a metric of each epoch.
void Trainer::note_skipped(const LoadedBatch& batch) {
  for (const std::string& reason : batch.skipped) parts_.log.skipped(reason);
  parts_.notebook.skipped += static_cast<int64_t>(batch.skipped.size());
}

void Trainer::fit_allocator(int64_t epoch) {
  if (!parts_.harmonizer || !parts_.harmonizer->wants_fit(epoch)) return;
  const at::Tensor& chosen = parts_.notebook.stage_samples;
  const at::Tensor indices = chosen.defined() ? chosen : at::arange(parts_.data.size(), at::kLong);
  at::Tensor z;
  if (!parts_.harmonizer->fits_table())
    z = parts_.host
            .embed_all("plain",
                       [&](const at::Tensor& x) {
                         return parts_.method.call("embed", &SslMethod::embed, x);
                       })
            .to(at::kFloat);
  parts_.harmonizer->fit(z, indices, parts_.host.random("allocator.fit"));
}

// ---- steps ----

void Trainer::run_call(const LoadedBatch& loaded, StepRun& step) {
  Batch batch;
  batch.views = loaded.views;
  batch.indices = loaded.indices;
  if (parts_.method.sees_labels && parts_.data.targets().defined())
    batch.labels = parts_.data.targets().index_select(0, loaded.indices);
  batch.global_size = loaded.indices.size(0) * parts_.notebook.facts.world;
  step.begin_call(loaded);
  const AutocastScope autocast(parts_.plan.autocast);
  parts_.notebook.in_step = true;
  parts_.method.call("step", &SslMethod::step, batch, step);
  parts_.notebook.in_step = false;
  step.end_call();
}

// Nothing when a signal came while it was waited for, and the step can still be left undone.
std::optional<LoadedBatch> Trainer::next_batch(bool first_call) {
  std::optional<LoadedBatch> batch;
  try {
    batch = parts_.loader.next();
  } catch (const Error& error) {
    // Nothing was done in this step yet, and nobody else waits in it.
    const bool between = first_call && position_.steps > 0 && parts_.notebook.facts.world == 1;
    if (error.code() != ErrorCode::interrupted || !between) throw;
    return {};
  }
  require(batch.has_value(), ErrorCode::internal, "the loader has fewer batches than planned");
  if (parts_.plan.channels_last)
    for (at::Tensor& view : batch->views)
      if (view.dim() == 4) view = view.contiguous(at::MemoryFormat::ChannelsLast);
  return batch;
}

Trainer::Next Trainer::run_step(int64_t calls, double rate, Pace& pace) {
  StepRun step({.plan = parts_.plan,
                .method = parts_.method.name,
                .harmonizer = parts_.harmonizer,
                .optimizer = *optimizer_,
                .reducer = reducer_.get(),
                .scaler = scaler_,
                .ranks = parts_.ranks,
                .epoch = position_.epochs,
                .random = [this] { return parts_.host.random("allocator.assign"); }},
               calls);
  Notebook& notebook = parts_.notebook;
  std::optional<LoadedBatch> batch;
  int64_t samples = 0;
  for (notebook.call = 0; notebook.call < calls; ++notebook.call) {
    batch = next_batch(notebook.call == 0);
    if (!batch) return Next::stop;
    run_call(*batch, step);
    samples += batch->indices.size(0);
    note_skipped(*batch);
  }
  notebook.call = 0;

  // Ranks agree on what follows: who was asked to stop, whether the first one's clock says that it
  // is time to save, who has a loss that is not finite. The loss is that of all of them.
  const double loss = step.loss();
  const bool save_due = !replayed_ && checkpointing_.is_due();
  std::array<double, 4> votes = {interrupted() ? 1.0 : 0.0, save_due ? 1.0 : 0.0,
                                 std::isfinite(loss) ? 0.0 : 1.0, loss};
  step.finish(votes);
  const double norm = gradient_norm(optimizer_->parameters());
  const bool scaled = parts_.plan.autocast == at::kHalf;
  if (!scaled || votes[2] > 0) require_finite(step, norm, static_cast<int64_t>(votes[2]));
  if (replayed_ == position_.total) {
    examination_ = examine_step(position_.total, loss, norm, *batch, trained_.parameters);
    return Next::go_on;
  }
  const double mean_loss = votes[3] / static_cast<double>(notebook.facts.world);
  notebook.metrics.add("loss", mean_loss);
  notebook.metrics.add("gradient_norm", norm);
  update(rate, norm);
  pace.step(samples * notebook.facts.world, parts_.loader.waited());
  const int64_t steps = parts_.plan.steps_per_epoch(notebook.stage_size());
  if (replayed_)
    journal_.after_replayed_step(position_, steps, rate, pace);
  else
    journal_.after_step(position_, steps, rate, pace, mean_loss);
  return votes[0] > 0 ? Next::stop : votes[1] > 0 ? Next::save : Next::go_on;
}

void Trainer::update(double rate, double norm) {
  parts_.method.call("before_update", &SslMethod::before_update, parts_.host);
  if (parts_.plan.clip > 0)
    if (const double factor =
            clip_factor(gradient_norm(optimizer_->parameters()), parts_.plan.clip);
        factor < 1)
      scale_gradients(optimizer_->parameters(), factor);
  // Under float16 a step whose gradient overflowed is passed over, with a smaller factor after it.
  if (scaler_.update(std::isfinite(norm))) optimizer_->step(rate);
  parts_.method.call("after_update", &SslMethod::after_update, parts_.host);
  if (parts_.harmonizer) parts_.harmonizer->after_update();
  ++parts_.notebook.progress.step;
  ++position_.steps;
  ++position_.total;
}

void Trainer::require_finite(const StepRun& step, double norm, int64_t bad_losses) {
  if (bad_losses == 0 && std::isfinite(norm)) return;
  const StepExamination seen =
      examine_step(position_.total, step.loss(), norm, step.batch(), trained_.parameters);
  if (replayed_) {
    require(position_.total == *replayed_, ErrorCode::numeric, "the numbers stop being finite at ",
            summary(seen), ", earlier than in the run");
    return;
  }
  write_failure(parts_.directory, seen, step.batch());
  parts_.log.say(Severity::detail, summary(seen));
  fail(ErrorCode::numeric, "the ",
       bad_losses > 0 ? "loss is " + seen.loss : "gradient's norm is " + seen.gradient,
       " in epoch ", position_.epochs + 1, ", step ", position_.steps + 1,
       "; look at that step with: ghhost replay ", parts_.directory.path().string());
}

}  // namespace gh::host
