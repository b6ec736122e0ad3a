// The training loop: stages, epochs, steps. Everything it needs is handed in; it evaluates through
// a callback and writes through the run directory. Between any two steps its whole state can be
// written to a checkpoint and read back, after which it goes on as if nothing had happened.
#pragma once

#include "harmonize/harmonizer.hpp"
#include "harmonize/harmony_watch.hpp"
#include "ranks/gradient_reducer.hpp"
#include "recipe/recipe.hpp"
#include "run/checkpoint_store.hpp"
#include "run/run_directory.hpp"
#include "train/components.hpp"
#include "train/console.hpp"
#include "train/failed_step.hpp"
#include "train/host_services.hpp"
#include "train/loss_scaler.hpp"
#include "train/memory_budget.hpp"
#include "train/optimizer.hpp"
#include "train/pace.hpp"
#include "train/plan.hpp"
#include "train/stages.hpp"

#include "gh/ssl.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

// When evaluators are called.
struct EvaluationMoment {
  std::string name;         // "start", "epoch", "warm-up", "end"
  int64_t epochs = 0;       // done
  int64_t step = 0;         // optimiser steps done
  bool last = false;        // no epoch follows
  bool warm_up = false;     // the warm-up ends here
  bool harmonized = false;  // as Trainer::harmonized()
};

struct TrainerParts {
  const Recipe& recipe;
  const TrainPlan& plan;
  const SampleSet& data;
  Loader& loader;
  const Made<SslMethod>& method;
  const std::vector<Stage>& stages;
  HostServices& host;
  Harmonizer* harmonizer;  // null without [harmonize]
  RunDirectory& directory;
  CheckpointStore& checkpoints;
  std::map<std::string, std::string> identity;  // of the run, for the metadata of checkpoints
  RunStatus& status;
  Console& console;
  std::function<void(const EvaluationMoment&)> evaluate;
};

class Trainer {
 public:
  explicit Trainer(TrainerParts parts);

  // From the start, or from a checkpoint. False when a signal asked to stop. The state of the last
  // finished step is saved either way, before the last evaluation, unless the signal cut off a step
  // or an allocator's fit that took longer than one can wait for. What the run directory has beyond
  // the checkpoint is cut off, and `loaded` called, when all ranks have loaded it: one that cannot
  // be loaded leaves everything as it was.
  bool train(const TensorFile* from, const std::function<void()>& loaded);

  // Loads a checkpoint for looking at the networks: no training.
  void restore_only(const TensorFile& from);
  int64_t epochs_done() const;
  // Whether GH was past its warm-up, which every stage has, in the epoch trained last.
  bool harmonized() const;

  // Trains on from a checkpoint, or from the start, up to optimiser step `step` without writing
  // anything, and examines it. Throws gh::Error (numeric) when training ends before.
  StepExamination replay(const TensorFile* from, int64_t step);

 private:
  // What is done: `epochs` and `steps` (of the epoch that runs) in stage number `stage`.
  struct Position {
    int64_t stage = 0, epochs = 0, steps = 0;
    int64_t total = 0;  // optimiser steps over all stages
  };
  class StepRun;

  void begin_stage(int64_t index, const TensorFile* from);
  bool run_stages(const TensorFile* from, const std::function<void()>& loaded);
  void rewind_to(const TensorFile& from);
  bool run_stage();
  bool run_epoch(const Schedule& schedule);
  EpochPlan plan_of(int64_t epoch, int64_t first_step) const;
  void begin_epoch(int64_t epoch);
  void end_epoch(double rate, const Pace& pace);
  // Evaluation that belongs to the end of an epoch. False when a signal cut it off.
  bool after_epoch();
  bool evaluate(const EvaluationMoment& moment);

  enum class Wish { none, save, stop };
  Wish run_step(int64_t calls, double rate, Pace& pace);
  void run_call(const LoadedBatch& loaded, StepRun& step);
  void sum_votes(std::span<double> votes);
  void require_finite(const StepRun& step, double norm, int64_t bad_losses);
  void report_skipped(const LoadedBatch& batch);
  void fit_allocator(int64_t epoch);
  void show(double rate, const Pace& pace, double loss);
  void write_metrics(double rate, const Pace& pace);
  void require_complete_state();
  bool save_is_due() const;

  void visit(State& method, State& harmonizer, State& optimizer, State& host, State& own);
  void save(std::optional<double> score);
  void load(const TensorFile& from);
  Position read_position(const TensorFile& from) const;

  int64_t stage_size() const;
  StepMemory step_memory() const;
  const Stage& stage() const { return parts_.stages[static_cast<std::size_t>(stage_now_)]; }

  TrainerParts parts_;
  int64_t stage_now_ = 0;
  Position position_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<GradientReducer> reducer_;  // null with one rank
  LossScaler scaler_;
  at::Tensor stage_samples_;
  std::shared_ptr<const std::vector<float>> epoch_weights_;  // which this epoch's views read
  std::vector<std::pair<std::string, at::Tensor>> names_;    // of trained parameters
  int64_t skipped_now_ = 0;                                  // in this epoch
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
  HarmonyWatch watch_;
  bool takes_batch_statistics_ = false;
  bool stopping_ = false;                  // a signal asked for it, and all ranks know
  std::optional<int64_t> results_before_;  // of an evaluation that will be repeated
  std::optional<int64_t> replayed_;        // step at which a replay stops
  std::optional<StepExamination> examination_;
};

}  // namespace gh::host
