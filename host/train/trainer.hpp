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
#include <string>
#include <vector>

namespace gh::host {

struct TrainerParts {
  const Recipe& recipe;
  const TrainPlan& plan;
  const SampleTable& data;
  const ViewMaker& views;
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
  // False when a signal asked to stop; the state is that of the last finished step either way.
  bool train();
  // Everything remembered: method, optimiser, harmonizer.
  void save_state(const std::filesystem::path& file);

 private:
  struct StagePlan {
    std::string name;
    int64_t epochs;
  };
  class StepRun;

  std::vector<StagePlan> plan_stages() const;
  void begin_stage(const StagePlan& stage, int64_t index);
  bool run_stage(const StagePlan& stage);
  bool run_epoch(int64_t epoch, double rate);
  void run_step(const at::Tensor& indices, int64_t epoch, double rate);
  void fit_allocator(int64_t epoch);
  void write_metrics(int64_t epoch, double rate, double seconds, int64_t samples);
  void require_complete_state();

  TrainerParts parts_;
  std::unique_ptr<Optimizer> optimizer_;
  at::Tensor stage_samples_;
};

}  // namespace gh::host
