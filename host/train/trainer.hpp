// The training loop: stages, epochs, steps. Everything it needs is handed in; it evaluates through
// a callback and writes through the run directory.
#pragma once

#include "harmonize/harmonizer.hpp"
#include "recipe/recipe.hpp"
#include "run/run_directory.hpp"
#include "train/components.hpp"
#include "train/console.hpp"
#include "train/host_services.hpp"
#include "train/optimizer.hpp"
#include "train/plan.hpp"

#include "gh/ssl.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gh::host {

struct TrainerParts {
  const Recipe& recipe;
  const TrainPlan& plan;
  const SampleSet& data;
  Loader& loader;
  const Made<SslMethod>& method;
  HostServices& host;
  Harmonizer* harmonizer;  // null without [harmonize]
  RunDirectory& directory;
  RunStatus& status;
  Console& console;
  // Called at "start", "warm-up" and "end" with the number of epochs done.
  std::function<void(const std::string& moment, int64_t epochs_done)> evaluate;
};

class Trainer {
 public:
  explicit Trainer(TrainerParts parts);
  // False when a signal asked to stop; the state of the last finished step is saved either way,
  // before the last evaluation.
  bool train();

 private:
  struct StagePlan {
    std::string name;
    int64_t epochs;
  };
  class StepRun;

  std::vector<StagePlan> plan_stages() const;
  void begin_stage(const StagePlan& stage, int64_t index);
  bool run_stage(const StagePlan& stage);
  bool run_epoch(const StagePlan& stage, int64_t epoch, double rate);
  EpochPlan plan_of(int64_t epoch) const;
  void run_step(const LoadedBatch& loaded, double rate);
  void report_skipped(const LoadedBatch& batch);
  void fit_allocator(int64_t epoch);
  struct EpochTime {
    double seconds = 0, waited = 0;
    int64_t samples = 0;
  };
  void write_metrics(int64_t epoch, double rate, const EpochTime& time);
  void require_complete_state();
  void save_state();  // everything remembered: method, optimiser, harmonizer

  TrainerParts parts_;
  std::unique_ptr<Optimizer> optimizer_;
  at::Tensor stage_samples_;
  std::set<std::string> skipped_;  // reasons already told
  int64_t skipped_now_ = 0;        // in this epoch
};

}  // namespace gh::host
