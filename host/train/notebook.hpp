// Where training stands and what was noted on the way. The trainer writes it, HostServices shows
// plugins their part of it and notes what they log, publish and draw. What of it outlives a stop is
// in checkpoints.
#pragma once

#include "ranks/ranks.hpp"
#include "run/run_directory.hpp"
#include "train/epoch_metrics.hpp"

#include "gh/host.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

using SampleWeights = std::shared_ptr<const std::vector<float>>;  // null: all 0

struct Notebook {
  RunFacts facts;
  Progress progress = {};
  int64_t call = 0;               // of step(), within an optimiser step
  bool in_step = false;           // step() runs
  int64_t first_epoch = 0;        // of the stage, in the run
  at::Tensor stage_samples = {};  // undefined: all
  EpochMetrics metrics = {};
  int64_t skipped = 0;               // samples others stood in for in this epoch, on this rank
  SampleWeights weights = {};        // what was published for the views
  SampleWeights epoch_weights = {};  // of it, what the views of the epoch that runs read
  std::map<std::string, RunDirectory::Picture> pictures = {};

  // How many samples the stage has.
  int64_t stage_size() const {
    return stage_samples.defined() ? stage_samples.size(0) : facts.samples;
  }
  void draw(std::string_view name, std::string_view caption, std::string_view mime,
            std::string_view bytes);
  std::vector<RunDirectory::Picture> all_pictures() const;

  // What was published, logged in this epoch and drawn. A collective.
  void visit_state(State& state, Ranks& ranks);

 private:
  void visit_pictures(State& state);
};

}  // namespace gh::host
