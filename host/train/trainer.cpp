#include "train/trainer.hpp"

#include "ranks/same_state.hpp"
#include "text/json.hpp"
#include "train/autocast.hpp"
#include "train/gradient_norm.hpp"
#include "train/last_batch.hpp"
#include "train/preflight.hpp"
#include "train/state_archive.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace gh::host {
namespace {

constexpr const char* kFormat = "ghhost-checkpoint-1";

class TrainableList final : public Trainables {
 public:
  void add(const at::Tensor& parameter, Policy policy, double rate) override {
    require(parameter.requires_grad() && parameter.is_leaf(), ErrorCode::internal,
            "a trained parameter must be a leaf that requires a gradient");
    parameters.push_back({.tensor = parameter, .policy = policy, .rate = rate});
  }
  std::vector<OptimizedParameter> parameters;
};

// LibTorch's own generators, for operators that draw from them. Ranks may have drawn differently:
// several have a row each, of which each gets its own back.
void visit_generators(State& state, at::Device device, Ranks& ranks) {
  const auto visit = [&](const char* name, at::Generator generator) {
    at::Tensor bytes;
    {
      std::lock_guard lock(generator.mutex());
      bytes = generator.get_state();
    }
    if (!state.loading() && ranks.world() > 1) bytes = ranks.all_gather(bytes.view({1, -1}));
    state.tensor(name, bytes);
    if (!state.loading()) return;
    if (bytes.dim() == 2) bytes = bytes[std::min(ranks.rank(), bytes.size(0) - 1)].clone();
    std::lock_guard lock(generator.mutex());
    generator.set_state(bytes);
  };
  visit("generator.cpu", at::globalContext().defaultGenerator(at::kCPU));
  if (device.is_cuda()) visit("generator.cuda", at::globalContext().defaultGenerator(device));
}

// State of which each rank has its own and the first one's is kept: what is only shown, and batch
// statistics that are not taken over all ranks.
bool is_of_one_rank(const std::string& name, Norm norm) {
  return name.starts_with("host.picture") ||
         (norm == Norm::of_each_rank &&
          (name.ends_with("running_mean") || name.ends_with("running_var")));
}

}  // namespace

// The calls of SslMethod::step that make one optimiser step.
class Trainer::StepRun final : public Step, public Projection {
 public:
  StepRun(Trainer& trainer, int64_t calls) : trainer_(trainer), calls_(calls) {}

  void begin_call(const LoadedBatch& batch) {
    batch_ = &batch;
    called_ = projected_ = false;
  }
  void end_call() const {
    require(called_, ErrorCode::internal, "the method's step() never called backward()");
    if (projects() && !projected_)  // in the warm-up, too: before anything was trained in vain
      throw RecipeRefused(trainer_.parts_.recipe, "harmonize.apply",
                          trainer_.parts_.method.name +
                              " never compares what GH makes of its embeddings (Step::project()), "
                              "so \"projector\" would change nothing; use \"loss\"");
  }

  void backward(const at::Tensor& loss) override {
    require(loss.dim() == 0, ErrorCode::shape, "backward() takes a scalar loss, got ",
            loss.sizes());
    require(!reduced_, ErrorCode::internal,
            "backward() between reduce_gradients() and discard_gradients()");
    const at::Tensor value = loss.detach() / static_cast<double>(calls_);
    total_ = total_.defined() ? total_ + value : value;
    const double factor = trainer_.scaler_.scale() / static_cast<double>(calls_);
    // Operators of the backward pass follow the types of the forward pass by themselves.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    (factor == 1 ? loss : loss * factor).backward();
    called_ = true;
  }
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                       const HarmonizeOptions& options) override {
    Harmonizer* harmonizer = trainer_.parts_.harmonizer;
    if (!harmonizer) return at::zeros({}, z1.options().requires_grad(false));
    return harmonizer->term(z1, z2, batch_->indices, options.track != 0, epoch());
  }
  void reduce_gradients() override {
    require(trainer_.parts_.plan.accumulate == 1, ErrorCode::unsupported,
            "reduce_gradients() with train.accumulate > 1");
    finish({});
  }
  void discard_gradients() override {
    require(trainer_.parts_.plan.accumulate == 1, ErrorCode::unsupported,
            "discard_gradients() with train.accumulate > 1");
    trainer_.optimizer_->zero_grad();
    if (trainer_.reducer_) trainer_.reducer_->begin_step();
    reduced_ = false;
    total_.reset();
  }
  void* query(const char* id) override {
    return std::string_view(id) == Projection::kId && projects() ? static_cast<Projection*>(this)
                                                                 : nullptr;
  }
  at::Tensor project(const at::Tensor& z) override {
    projected_ = true;
    return trainer_.parts_.harmonizer->project(z, epoch());
  }

  // Gradients become the unscaled mean over ranks; votes their sum.
  void finish(std::span<double> votes) {
    if (reduced_) return trainer_.sum_votes(votes);
    if (trainer_.reducer_) trainer_.reducer_->finish(votes);
    if (const double scale = trainer_.scaler_.scale(); scale != 1)
      scale_gradients(trainer_.optimizer_->parameters(), 1 / scale);
    reduced_ = true;
  }
  double loss() const {
    return total_.defined() ? total_.item<double>() : std::numeric_limits<double>::quiet_NaN();
  }
  const LoadedBatch& batch() const { return *batch_; }

 private:
  bool projects() const {
    return trainer_.parts_.harmonizer &&
           trainer_.parts_.plan.harmonize->apply == HarmonizePlan::Apply::projector;
  }
  int64_t epoch() const { return trainer_.position_.epochs; }  // of the stage: GH counts these

  Trainer& trainer_;
  int64_t calls_;
  const LoadedBatch* batch_ = nullptr;
  at::Tensor total_;
  bool called_ = false;
  bool projected_ = false;
  bool reduced_ = false;
};

Trainer::Trainer(TrainerParts parts)
    : parts_(std::move(parts)), scaler_(parts_.plan.autocast == at::kHalf) {}

// ---- stages ----

bool Trainer::train(const TensorFile* from, const std::function<void()>& loaded) {
  if (!from && !evaluate({.name = "start"})) return false;  // nothing to save: it will start again
  const auto cut = [&] {
    parts_.host.ranks().barrier();
    rewind_to(*from);
    loaded();
  };
  try {
    if (!run_stages(from, cut)) {
      save({});
      parts_.host.ranks().barrier();  // nobody leaves before it is written
      return false;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::interrupted) throw;
    // Half a step, or half a fit, can neither be saved nor undone.
    parts_.console.finish();
    parts_.host.say(Severity::warning,
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
  if (from) position_ = read_position(*from);
  const auto count = static_cast<int64_t>(parts_.stages.size());
  if (position_.stage == count) {  // trained to the end, and stopped after that
    begin_stage(count - 1, from);
    loaded();
    return true;
  }
  while (position_.stage < count) {
    begin_stage(position_.stage, from);
    if (from) loaded();
    if (from && position_.steps == 0 && position_.epochs > 0 && !after_epoch()) return false;
    from = nullptr;
    if (!run_stage()) return false;
    if (examination_) return true;
    parts_.method.ask("end_stage", &SslMethod::end_stage, parts_.host);
    position_ = {.stage = position_.stage + 1, .epochs = 0, .steps = 0, .total = position_.total};
  }
  return true;
}

void Trainer::restore_only(const TensorFile& from) {
  position_ = read_position(from);
  begin_stage(std::min(position_.stage, static_cast<int64_t>(parts_.stages.size()) - 1), &from);
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
  Progress& progress = parts_.host.progress_now();
  progress = {.stage = stage().name,
              .stage_index = index,
              .epoch = 0,
              .epochs = stage().epochs,
              .step = 0,
              .steps = 0};
  parts_.method.ask("train", &SslMethod::train, true);
  parts_.host.set_stage_samples({});
  parts_.host.set_first_epoch(stage().first);
  parts_.method.ask("begin_stage", &SslMethod::begin_stage, parts_.host);

  TrainableList trainables;
  parts_.method.ask("trainable", &SslMethod::trainable, trainables);
  if (parts_.harmonizer) parts_.harmonizer->trainable(trainables);
  optimizer_ = make_optimizer(parts_.recipe, std::move(trainables.parameters));
  require_complete_state();
  if (parts_.host.facts().world > 1) {
    std::vector<at::Tensor> parameters;
    for (const OptimizedParameter& p : optimizer_->parameters()) parameters.push_back(p.tensor);
    reducer_ = std::make_unique<GradientReducer>(parts_.host.ranks(), std::move(parameters));
  }
  if (from) load(*from);

  stage_samples_ = parts_.method.ask("stage_samples", &SslMethod::stage_samples);
  parts_.host.set_stage_samples(stage_samples_);
  progress.steps = stage().epochs * parts_.plan.steps_per_epoch(stage_size());
  require(stage().epochs == 0 || progress.steps > 0, ErrorCode::invalid_param, "stage '",
          stage().name, "' has ", stage_size(), " samples and drops batches shorter than ",
          parts_.plan.batch, "; lower train.batch");
  // A checkpoint was made where there was room.
  if (!from && parts_.host.facts().device.is_cpu())
    require_room(parts_.recipe, step_memory(), available_memory());
}

StepMemory Trainer::step_memory() const {
  StepMemory out{.moments = moments_of(parts_.recipe)};
  for (const OptimizedParameter& p : optimizer_->parameters())
    out.parameters += static_cast<double>(p.tensor.nbytes());
  const TrainPlan& plan = parts_.plan;
  const int64_t rows = std::min(plan.batch / plan.accumulate, stage_size()) / plan.world;
  double sample = 0;
  for (const std::vector<int64_t>& shape : parts_.host.facts().view_shapes)
    sample += static_cast<double>(c10::multiply_integers(shape));
  out.batches = sample * static_cast<double>(rows * (plan.loader.prefetch + 1)) *
                static_cast<double>(c10::elementSize(plan.dtype));
  return out;
}

int64_t Trainer::stage_size() const {
  return stage_samples_.defined() ? stage_samples_.size(0) : parts_.data.size();
}

void Trainer::require_complete_state() {
  TensorFile file;
  StateSaver method(file, "method");
  parts_.method.ask("visit_state", &SslMethod::visit_state, method);
  if (parts_.harmonizer) {
    StateSaver harmonizer(file, "harmonize");
    parts_.harmonizer->visit_state(harmonizer);
  }
  takes_batch_statistics_ = takes_batch_statistics(file);
  names_.clear();
  for (const OptimizedParameter& p : optimizer_->parameters()) {
    const auto found = std::find_if(file.tensors.begin(), file.tensors.end(), [&](const auto& t) {
      return t.second.data_ptr() == p.tensor.data_ptr();
    });
    require(found != file.tensors.end(), ErrorCode::internal,
            "the method trains a parameter of shape ", p.tensor.sizes(),
            " that its visit_state() does not visit");
    names_.emplace_back(found->first, p.tensor);
  }
}

// ---- epochs ----

bool Trainer::run_stage() {
  const std::string lone = lone_last_sample(parts_.plan, norm_of(parts_.recipe), stage_size());
  require(stage().epochs == 0 || lone.empty() || !takes_batch_statistics_, ErrorCode::invalid_param,
          "stage '", stage().name, "': ", lone, ". Batch normalisation needs two");
  const Schedule schedule = parts_.plan.schedule_for(parts_.recipe, stage().epochs);
  while (position_.epochs < stage().epochs) {
    parts_.host.progress_now().epoch = position_.epochs;
    if (!run_epoch(schedule)) return false;
    if (examination_) return true;
    ++position_.epochs;
    position_.steps = 0;
    const bool last = position_.epochs == stage().epochs;
    if (!replayed_ && (last || position_.epochs % parts_.plan.checkpoint_every == 0))
      save(parts_.host.metrics().mean(parts_.plan.best_metric));
    if (stopping_ || !after_epoch()) return false;
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
  results_before_ = parts_.directory.results();
  if (!evaluate(moment)) return false;
  moment.name = "warm-up";
  if (moment.warm_up && !evaluate(moment)) return false;
  results_before_.reset();
  return true;
}

EpochPlan Trainer::plan_of(int64_t epoch, int64_t first_step) const {
  const RunFacts& facts = parts_.host.facts();
  // Counted over all stages, so that a later one repeats neither order nor views of an earlier one.
  const int64_t of_run = stage().first + epoch;
  at::Tensor order = shuffled_order(parts_.plan.seed, of_run, parts_.data.size(), stage_samples_);
  if (parts_.plan.drop_last)
    order = order.narrow(0, 0, order.size(0) / parts_.plan.batch * parts_.plan.batch);
  return {.epoch = of_run,
          .order = order,
          .batch = parts_.plan.batch / parts_.plan.accumulate,
          .first_batch = first_step * parts_.plan.accumulate,
          .rank = facts.rank,
          .world = facts.world,
          .weights = first_step > 0 ? epoch_weights_ : parts_.host.weights()};
}

void Trainer::begin_epoch(int64_t epoch) {
  parts_.host.metrics().clear();
  parts_.method.ask("begin_epoch", &SslMethod::begin_epoch, parts_.host);
  fit_allocator(epoch);
  epoch_weights_ = parts_.host.weights();
}

bool Trainer::run_epoch(const Schedule& schedule) {
  const int64_t epoch = position_.epochs;
  if (position_.steps == 0) begin_epoch(epoch);
  if (parts_.loader.idle()) parts_.loader.begin(plan_of(epoch, position_.steps));
  // The coming epoch is prepared while this one runs, unless its views wait for what the method
  // publishes at the end of this one.
  if (epoch + 1 < stage().epochs && parts_.host.facts().per_sample.empty())
    parts_.loader.begin(plan_of(epoch + 1, 0));
  const Progress& progress = parts_.host.progress();
  const int64_t steps = parts_.plan.steps_per_epoch(stage_size());
  const int64_t calls = parts_.plan.calls_per_epoch(stage_size());
  Pace pace(progress.steps, progress.step, parts_.loader.waited());
  double rate = 0;
  while (position_.steps < steps) {
    const double part = static_cast<double>(position_.steps) / static_cast<double>(steps);
    rate = schedule.rate(static_cast<double>(epoch) + part);
    const int64_t left = calls - position_.steps * parts_.plan.accumulate;
    const Wish wish = run_step(std::min(parts_.plan.accumulate, left), rate, pace);
    if (examination_) return true;
    stopping_ = wish == Wish::stop;
    // After the last step the epoch is ended first: what belongs to its end is not done again.
    if (stopping_ && position_.steps < steps) return false;
    if (wish == Wish::save && position_.steps < steps) save({});
  }
  require(!parts_.loader.next(), ErrorCode::internal, "the loader has more batches than planned");
  end_epoch(rate, pace);
  return true;
}

void Trainer::end_epoch(double rate, const Pace& pace) {
  parts_.method.ask("end_epoch", &SslMethod::end_epoch, parts_.host);
  if (position_.epochs == 0 && !parts_.host.facts().per_sample.empty() && !parts_.host.weights())
    parts_.host.say(Severity::warning,
                    "[views] has boosted operations, but the method publishes no \"strength\": "
                    "every sample has weight 0");
  if (stage_now_ == 0 && position_.epochs == 0 && !reported_by_host(parts_.plan) &&
      std::isnan(parts_.host.metrics().mean(parts_.plan.best_metric)))
    parts_.host.say(Severity::warning, "nothing reported \"" + parts_.plan.best_metric +
                                           "\" (checkpoint.metric) in the first epoch; no "
                                           "checkpoint is the best by it");
  std::optional<SurrogateStatistics> surrogates;
  if (parts_.harmonizer) surrogates = parts_.harmonizer->end_epoch(position_.epochs);
  parts_.host.metrics().reduce(parts_.host.ranks());
  if (surrogates && parts_.harmonizer->weight(position_.epochs) > 0)
    for (const std::string& text :
         watch_.look(*surrogates, parts_.host.metrics().mean("allocator_residual")))
      parts_.host.say(Severity::warning, text);
  if (!replayed_) write_metrics(rate, pace);
}

// Every file is named once; how many there were is a metric of each epoch.
void Trainer::report_skipped(const LoadedBatch& batch) {
  for (const std::string& reason : batch.skipped) parts_.host.skipped(reason);
  skipped_now_ += static_cast<int64_t>(batch.skipped.size());
}

void Trainer::fit_allocator(int64_t epoch) {
  if (!parts_.harmonizer || !parts_.harmonizer->wants_fit(epoch)) return;
  const at::Tensor indices =
      stage_samples_.defined() ? stage_samples_ : at::arange(parts_.data.size(), at::kLong);
  at::Tensor z;
  if (!parts_.harmonizer->fits_table())
    z = parts_.host
            .embed_all("plain",
                       [&](const at::Tensor& x) {
                         return parts_.method.ask("embed", &SslMethod::embed, x);
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
  batch.global_size = loaded.indices.size(0) * parts_.host.facts().world;
  step.begin_call(loaded);
  const AutocastScope autocast(parts_.plan.autocast);
  parts_.method.ask("step", &SslMethod::step, batch, step);
  step.end_call();
}

Trainer::Wish Trainer::run_step(int64_t calls, double rate, Pace& pace) {
  optimizer_->zero_grad();
  if (reducer_) reducer_->begin_step();
  StepRun step(*this, calls);
  std::optional<LoadedBatch> batch;
  int64_t samples = 0;
  for (int64_t call = 0; call < calls; ++call) {
    parts_.host.set_call(call);
    try {
      batch = parts_.loader.next();
    } catch (const Error& error) {
      // Nothing was done in this step yet, and nobody else waits in it.
      const bool between = call == 0 && position_.steps > 0 && parts_.host.facts().world == 1;
      if (error.code() != ErrorCode::interrupted || !between) throw;
      return Wish::stop;
    }
    require(batch.has_value(), ErrorCode::internal, "the loader has fewer batches than planned");
    if (parts_.plan.channels_last)
      for (at::Tensor& view : batch->views)
        if (view.dim() == 4) view = view.contiguous(at::MemoryFormat::ChannelsLast);
    run_call(*batch, step);
    samples += batch->indices.size(0);
    report_skipped(*batch);
  }
  parts_.host.set_call(0);

  // Ranks agree on what follows: who was asked to stop, whether the first one's clock says that it
  // is time to save, who has a loss that is not finite. The loss is that of all of them.
  const double loss = step.loss();
  std::array<double, 4> votes = {interrupted() ? 1.0 : 0.0, save_is_due() ? 1.0 : 0.0,
                                 std::isfinite(loss) ? 0.0 : 1.0, loss};
  step.finish(votes);
  const double norm = gradient_norm(optimizer_->parameters());
  const bool scaled = parts_.plan.autocast == at::kHalf;
  if (!scaled || votes[2] > 0) require_finite(step, norm, static_cast<int64_t>(votes[2]));
  if (replayed_ == position_.total) {
    examination_ = examine_step(position_.total, loss, norm, *batch, names_);
    return Wish::none;
  }
  const double mean_loss = votes[3] / static_cast<double>(parts_.host.facts().world);
  parts_.host.log("loss", mean_loss);
  parts_.host.log("gradient_norm", norm);
  parts_.method.ask("before_update", &SslMethod::before_update, parts_.host);
  if (parts_.plan.clip > 0)
    if (const double factor =
            clip_factor(gradient_norm(optimizer_->parameters()), parts_.plan.clip);
        factor < 1)
      scale_gradients(optimizer_->parameters(), factor);
  // Under float16 a step whose gradient overflowed is passed over, with a smaller factor after it.
  if (scaler_.update(std::isfinite(norm))) optimizer_->step(rate);
  parts_.method.ask("after_update", &SslMethod::after_update, parts_.host);
  if (parts_.harmonizer) parts_.harmonizer->after_update();
  ++parts_.host.progress_now().step;
  ++position_.steps;
  ++position_.total;
  pace.step(samples * parts_.host.facts().world, parts_.loader.waited());
  show(rate, pace, mean_loss);
  return votes[0] > 0 ? Wish::stop : votes[1] > 0 ? Wish::save : Wish::none;
}

void Trainer::sum_votes(std::span<double> votes) {
  at::Tensor sums = at::tensor(at::ArrayRef<double>(votes.data(), votes.size()), at::kDouble);
  parts_.host.ranks().sum_in_place(sums);
  std::copy_n(sums.data_ptr<double>(), votes.size(), votes.begin());
}

void Trainer::require_finite(const StepRun& step, double norm, int64_t bad_losses) {
  if (bad_losses == 0 && std::isfinite(norm)) return;
  const StepExamination seen =
      examine_step(position_.total, step.loss(), norm, step.batch(), names_);
  if (replayed_) {
    require(position_.total == *replayed_, ErrorCode::numeric, "the numbers stop being finite at ",
            summary(seen), ", earlier than in the run");
    return;
  }
  write_failure(parts_.directory, seen, step.batch());
  parts_.host.say(Severity::detail, summary(seen));
  fail(ErrorCode::numeric, "the ",
       bad_losses > 0 ? "loss is " + seen.loss : "gradient's norm is " + seen.gradient,
       " in epoch ", position_.epochs + 1, ", step ", position_.steps + 1,
       "; look at that step with: ghhost replay ", parts_.directory.path().string());
}

bool Trainer::save_is_due() const {
  if (parts_.plan.checkpoint_minutes <= 0 || parts_.host.facts().rank != 0 || replayed_)
    return false;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - saved_;
  return since.count() >= 60 * parts_.plan.checkpoint_minutes;
}

void Trainer::show(double rate, const Pace& pace, double loss) {
  const Progress& progress = parts_.host.progress();
  const int64_t steps = parts_.plan.steps_per_epoch(stage_size());
  if (!replayed_)
    parts_.status.running({.stage = progress.stage,
                           .epoch = position_.epochs + (position_.steps == steps ? 1 : 0),
                           .epochs = progress.epochs,
                           .step = progress.step,
                           .steps = progress.steps,
                           .loss = loss,
                           .rate = rate,
                           .samples_per_second = pace.samples_per_second(),
                           .seconds_left = pace.seconds_left()});
  const bool whole = position_.steps == steps;
  parts_.console.tick(
      {.stage = progress.stage,
       .epoch = position_.epochs + (whole ? 1 : 0),
       .epochs = progress.epochs,
       .part = whole ? 0 : static_cast<double>(position_.steps) / static_cast<double>(steps),
       .loss = parts_.host.metrics().mean("loss"),
       .rate = rate,
       .samples_per_second = pace.samples_per_second(),
       .waiting = pace.waiting(),
       .seconds_left = pace.seconds_left(),
       .memory = resident_memory()});
}

void Trainer::write_metrics(double rate, const Pace& pace) {
  const Progress& progress = parts_.host.progress();
  const int64_t epoch = position_.epochs + 1;
  nlohmann::ordered_json line = {{"stage", progress.stage},
                                 {"epoch", epoch},
                                 {"epochs", progress.epochs},
                                 {"step", progress.step},
                                 {"lr", rate}};
  parts_.host.metrics().write(line);
  double skipped = static_cast<double>(std::exchange(skipped_now_, 0));
  sum_votes({&skipped, 1});
  if (skipped > 0) line["skipped"] = static_cast<int64_t>(skipped);
  parts_.directory.append_metrics(line, position_.total);
  parts_.directory.append_timing({{"stage", progress.stage},
                                  {"epoch", epoch},
                                  {"seconds", pace.seconds()},
                                  {"samples_per_second", pace.samples_per_second()},
                                  {"waited_for_data", pace.waited()}},
                                 position_.total);
}

// ---- checkpoints ----

void Trainer::visit(State& method, State& harmonizer, State& optimizer, State& host, State& own) {
  parts_.method.ask("visit_state", &SslMethod::visit_state, method);
  if (parts_.harmonizer) parts_.harmonizer->visit_state(harmonizer);
  optimizer_->visit_state(optimizer);
  scaler_.visit_state(optimizer);
  parts_.host.visit_state(host);
  own.integer("step", parts_.host.progress_now().step);
  // Summed over ranks in a file, the first one's afterwards.
  double skipped = static_cast<double>(skipped_now_);
  if (!own.loading()) sum_votes({&skipped, 1});
  int64_t all = static_cast<int64_t>(skipped);
  own.integer("skipped", all);
  if (own.loading()) skipped_now_ = parts_.host.facts().rank == 0 ? all : 0;
  visit_generators(own, parts_.host.facts().device, parts_.host.ranks());
}

void Trainer::save(std::optional<double> score) {
  saved_ = std::chrono::steady_clock::now();
  TensorFile content;
  const RunDirectory::Marks marks = parts_.directory.marks();
  const std::string position = nlohmann::json{{"stage", position_.stage},
                                              {"epochs", position_.epochs},
                                              {"steps", position_.steps},
                                              {"total", position_.total},
                                              {"metrics_bytes", marks.metrics_bytes},
                                              {"results", results_before_.value_or(marks.results)}}
                                   .dump();
  StateSaver method(content, "method"), harmonizer(content, "harmonize"),
      optimizer(content, "optimizer"), host(content, "host"), own(content, "run");
  visit(method, harmonizer, optimizer, host, own);
  // What the running epoch's views read, where more was published since it began.
  if (position_.steps > 0 && epoch_weights_ && epoch_weights_ != parts_.host.weights())
    content.tensors.emplace_back("run.epoch_strength", at::tensor(*epoch_weights_, at::kFloat));
  require_same_state(parts_.host.ranks(), {content.tensors.begin(), content.tensors.end()},
                     content.metadata, [norm = norm_of(parts_.recipe)](const std::string& name) {
                       return is_of_one_rank(name, norm);
                     });
  content.metadata["format"] = kFormat;
  content.metadata["position"] = position;
  content.metadata.insert(parts_.identity.begin(), parts_.identity.end());
  if (!parts_.directory.written()) return;
  parts_.checkpoints.save(position_.total, std::move(content), score);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - saved_;
  parts_.host.say(Severity::detail, "checkpoint of step " + std::to_string(position_.total) +
                                        " in " + std::to_string(spent.count()) + " s");
}

Trainer::Position Trainer::read_position(const TensorFile& from) const {
  const auto format = from.metadata.find("format");
  require(format != from.metadata.end() && format->second == kFormat, ErrorCode::io,
          "the checkpoint has another format than this version writes, ", kFormat);
  const auto json = parse_json(from.metadata.at("position"));
  Position out{.stage = json.at("stage"),
               .epochs = json.at("epochs"),
               .steps = json.at("steps"),
               .total = json.at("total")};
  require(out.stage <= static_cast<int64_t>(parts_.stages.size()), ErrorCode::io,
          "the checkpoint is in stage ", out.stage, ", the method has ", parts_.stages.size());
  return out;
}

void Trainer::rewind_to(const TensorFile& from) {
  const auto json = parse_json(from.metadata.at("position"));
  parts_.directory.rewind(
      {.metrics_bytes = json.at("metrics_bytes"), .results = json.at("results")},
      position_.total + 1);
}

void Trainer::load(const TensorFile& from) {
  StateLoader method(from, "method"), harmonizer(from, "harmonize"), optimizer(from, "optimizer"),
      host(from, "host"), own(from, "run");
  visit(method, harmonizer, optimizer, host, own);
  epoch_weights_ = parts_.host.weights();
  if (from.has("run.epoch_strength")) {
    const at::Tensor& row = from.at("run.epoch_strength");
    epoch_weights_ = std::make_shared<const std::vector<float>>(
        row.data_ptr<float>(), row.data_ptr<float>() + row.numel());
  }
}

}  // namespace gh::host
