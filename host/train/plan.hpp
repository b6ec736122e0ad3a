// The host's own part of a resolved recipe, typed.
#pragma once

#include "data/loader.hpp"
#include "data/long_tail.hpp"
#include "harmonize/harmonizer.hpp"
#include "recipe/recipe.hpp"
#include "run/checkpoint_store.hpp"
#include "train/optimizer.hpp"
#include "train/schedule.hpp"

#include "gh/ops/convolution.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gh::host {

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
  std::filesystem::path weights;  // the backbone's initial ones; empty: its own
  int64_t world = 1;              // ranks that share a batch; set by whoever starts them
  int64_t checkpoint_every = 1;   // epochs
  double checkpoint_minutes = 0;
  CheckpointPlan checkpoints;
  std::string best_metric;
  ViewPlan views;
  ViewPlan plain_views;  // what evaluators see
  LoaderOptions loader;
  std::optional<LongTail> long_tail;
  std::optional<HarmonizePlan> harmonize;
  struct EvalTimes {
    std::set<std::string> moments;  // "start", "warm-up", "end"
    int64_t every = 0;              // epochs; 0: never
  };
  std::vector<EvalTimes> eval_times;  // per [[eval]]

  Schedule schedule_for(const Recipe& recipe, int64_t stage_epochs) const;
  int64_t calls_per_epoch(int64_t samples) const;  // of SslMethod::step
  int64_t steps_per_epoch(int64_t samples) const;  // of the optimiser
};

TrainPlan read_plan(const Recipe& recipe);

// Views of pictures need a size, views of vectors can have none.
void check_views(const Recipe& recipe, const TrainPlan& plan, const SampleSet& set,
                 Diagnostics& out);
std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe,
                                          std::vector<OptimizedParameter> parameters);

}  // namespace gh::host
