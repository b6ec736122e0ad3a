// The training loop: stages, epochs, steps. Everything it needs is handed in; it evaluates through
// a callback and writes through the run directory. Between any two steps its whole state can be
// written to a checkpoint and read back, after which it goes on as if nothing had happened.
#pragma once

#include "eval/moment.hpp"
#include "harmonize/harmonizer.hpp"
#include "harmonize/harmony_watch.hpp"
#include "optimize/loss_scaler.hpp"
#include "optimize/optimizer.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"
#include "ranks/gradient_reducer.hpp"
#include "run/checkpoint_store.hpp"
#include "run/run_directory.hpp"
#include "train/checkpointing.hpp"
#include "train/console.hpp"
#include "train/failed_step.hpp"
#include "train/journal.hpp"
#include "train/notebook.hpp"
#include "train/pace.hpp"
#include "train/position.hpp"
#include "train/run_log.hpp"
#include "train/stages.hpp"
#include "train/step_run.hpp"

#include "gh/ssl.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

// All but identity and callback outlives the trainer.
struct TrainerParts {
  const TrainPlan& plan;
  const SampleSet& data;
  Loader& loader;
  const Made<SslMethod>& method;
  const std::vector<Stage>& stages;
  Host& host;  // the method's
  Notebook& notebook;
  Ranks& ranks;
  RunLog& log;
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
  // be loaded leaves everything as it was. With `until`, it stops likewise when so many epochs are
  // done, before what the end of the last one asks for. Throws PlanRefused where the method or the
  // machine cannot do what the plan asks for.
  bool train(const TensorFile* from, const std::function<void()>& loaded,
             std::optional<int64_t> until = {});

  // Loads a checkpoint for looking at the networks: no training.
  void restore_only(const TensorFile& from);
  int64_t epochs_done() const;
  bool reached() const { return until_ && epochs_done() >= *until_; }
  // Whether GH was past its warm-up, which every stage has, in the epoch trained last.
  bool harmonized() const;

  // Trains on from a checkpoint, or from the start, up to optimiser step `step` without writing
  // anything, and examines it. Throws gh::Error (numeric) when training ends before.
  StepExamination replay(const TensorFile* from, int64_t step);

 private:
  void begin_stage(int64_t index, const TensorFile* from);
  void make_optimizer_of_stage();
  bool run_stages(const TensorFile* from, const std::function<void()>& loaded);
  bool run_stage();
  bool run_epoch(const Schedule& schedule);
  EpochPlan plan_of(int64_t epoch, int64_t first_step) const;
  void begin_epoch(int64_t epoch);
  void end_epoch(double rate, const Pace& pace);
  void warn_after_first_epoch();
  // Evaluation that belongs to the end of an epoch. False when a signal cut it off.
  bool after_epoch();
  bool evaluate(const EvaluationMoment& moment);

  enum class Next { go_on, save, stop };
  Next run_step(int64_t calls, double rate, Pace& pace);
  std::optional<LoadedBatch> next_batch(bool first_call);
  void run_call(const LoadedBatch& loaded, StepRun& step);
  void update(double rate, double norm);
  void require_finite(const StepRun& step, double norm, int64_t bad_losses);
  void note_skipped(const LoadedBatch& batch);
  void fit_allocator(int64_t epoch);

  void save(std::optional<double> score) { checkpointing_.save(position_, state(), score); }
  StageState state() { return {*optimizer_, scaler_}; }
  const Stage& stage() const { return parts_.stages[static_cast<std::size_t>(stage_now_)]; }

  TrainerParts parts_;
  Checkpointing checkpointing_;
  Journal journal_;
  int64_t stage_now_ = 0;
  Position position_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<GradientReducer> reducer_;  // null with one rank
  LossScaler scaler_;
  NamedState trained_;
  HarmonyWatch watch_;
  bool stopping_ = false;            // a signal asked for it, and all ranks know
  std::optional<int64_t> until_;     // epochs of the run
  std::optional<int64_t> replayed_;  // step at which a replay stops
  std::optional<StepExamination> examination_;
};

}  // namespace gh::host
