// The host's own part of a resolved recipe, typed: whoever trains reads this, and no key of the
// recipe.
#pragma once

#include "data/loader.hpp"
#include "data/long_tail.hpp"
#include "harmonize/harmonizer.hpp"
#include "optimize/optimizer_plan.hpp"
#include "optimize/schedule.hpp"
#include "recipe/recipe.hpp"
#include "run/checkpoint_store.hpp"

#include "gh/ops/convolution.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gh::host {

// Over which samples batch statistics are taken.
enum class Norm { of_all_ranks, of_each_rank };

// How the processes of a run work.
struct ProcessPlan {
  std::string device = "auto";  // as in choose_device()
  int64_t threads = 0;          // as in choose_threads()
  double timeout = 600;         // seconds, of what ranks do together
};

// Where a prior comes from that does not follow the table: class sizes, or a file.
struct PriorSource {
  std::filesystem::path file;  // empty: class sizes
  double temperature = 1;      // of these
};

struct TrainPlan {
  std::string name;
  uint64_t seed = 0;
  int64_t epochs = 1;
  int64_t batch = 1;
  int64_t accumulate = 1;  // calls of step() that share an optimiser step
  bool drop_last = false;
  double clip = 0;  // largest norm of the gradient; 0: any
  at::ScalarType dtype = at::kFloat;
  std::optional<at::ScalarType> autocast;
  bool channels_last = false;
  ops::ConvolutionMode convolution = ops::ConvolutionMode::automatic;
  std::string convolution_name;   // of it, as components are told
  std::filesystem::path weights;  // the backbone's initial ones; empty: its own
  ProcessPlan process;
  Norm norm = Norm::of_all_ranks;
  int64_t world = 1;             // ranks that share a batch; set by whoever starts them
  int64_t checkpoint_every = 1;  // epochs
  double checkpoint_minutes = 0;
  CheckpointPlan checkpoints;
  std::string best_metric;
  OptimizerPlan optimizer;
  Schedule schedule;  // of a stage, whose epochs are not known yet
  ViewPlan views;
  ViewPlan plain_views;  // what evaluators see
  LoaderOptions loader;
  std::optional<LongTail> long_tail;
  std::optional<HarmonizePlan> harmonize;
  std::optional<PriorSource> given_prior;
  std::string harmonize_mode, harmonize_apply;  // as components are told; "" without [harmonize]
  struct EvalTimes {
    std::set<std::string> moments;  // "start", "warm-up", "end"
    int64_t every = 0;              // epochs; 0: never
  };
  std::vector<EvalTimes> eval_times;  // per [[eval]]

  Schedule schedule_for(int64_t stage_epochs) const;
  int64_t calls_per_epoch(int64_t samples) const;  // of SslMethod::step
  int64_t steps_per_epoch(int64_t samples) const;  // of the optimiser
};

TrainPlan read_plan(const Recipe& recipe);

// The same of [train.optimizer] alone.
OptimizerPlan read_optimizer(const Recipe& recipe);

// Views of pictures need a size, views of vectors can have none.
void check_views(const Recipe& recipe, const TrainPlan& plan, const SampleSet& set,
                 Diagnostics& out);

}  // namespace gh::host
