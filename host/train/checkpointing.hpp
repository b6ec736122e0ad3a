// Everything training remembers, as a checkpoint and back: state of the method, of GH, of the
// optimiser and of the notebook, and where the run's files were then.
#pragma once

#include "harmonize/harmonizer.hpp"
#include "optimize/loss_scaler.hpp"
#include "optimize/optimizer.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"
#include "ranks/ranks.hpp"
#include "run/checkpoint_store.hpp"
#include "run/run_directory.hpp"
#include "train/notebook.hpp"
#include "train/position.hpp"
#include "train/run_log.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

// What is trained in a stage.
struct StageState {
  Optimizer& optimizer;
  LossScaler& scaler;
};

class Checkpointing {
 public:
  // All but the identity outlives this.
  struct Parts {
    const TrainPlan& plan;
    const Made<SslMethod>& method;
    Harmonizer* harmonizer;  // null without [harmonize]
    Notebook& notebook;
    Ranks& ranks;
    RunDirectory& directory;
    CheckpointStore& store;
    std::map<std::string, std::string> identity;  // of the run, for the metadata
    RunLog& log;
  };
  explicit Checkpointing(Parts parts) : parts_(std::move(parts)) {}

  // Collectives. Saving throws gh::Error (numeric) where ranks have come apart; `score` is by the
  // recipe's metric.
  void save(const Position& position, StageState stage, std::optional<double> score);
  void load(const TensorFile& from, StageState stage);
  // Cuts off what the run directory has beyond the checkpoint, which lies at step `total`.
  void rewind_to(const TensorFile& from, int64_t total);

  // Whether checkpoint.minutes have passed since the last one.
  bool is_due() const;

  // Around an evaluation: results from here on are made again when the run goes on from a
  // checkpoint of this time.
  void begin_repeatable_results() { results_before_ = parts_.directory.results(); }
  void end_repeatable_results() { results_before_.reset(); }

 private:
  struct Archives;
  void visit(Archives& archives, StageState stage);

  Parts parts_;
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
  std::optional<int64_t> results_before_;
};

// Parameters that a method trains, by the names under which its state and that of GH have them, in
// the optimiser's order. Throws gh::Error (internal) for one that visit_state() does not visit.
struct NamedState {
  std::vector<std::pair<std::string, at::Tensor>> parameters;
  bool batch_statistics = false;  // as takes_batch_statistics()
};
NamedState name_parameters(const Optimizer& optimizer, const Made<SslMethod>& method,
                           Harmonizer* harmonizer);

}  // namespace gh::host
