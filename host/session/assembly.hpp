// Everything that a recipe builds and that lives as long as its training: components, data,
// networks, points. Built and checked once, then trained, evaluated, exported or replayed.
#pragma once

#include "eval/split_store.hpp"
#include "harmonize/certificate.hpp"
#include "harmonize/harmonizer.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"
#include "recipe/recipe.hpp"
#include "session/evaluators.hpp"
#include "session/process.hpp"
#include "train/encoder_maker.hpp"
#include "train/host_services.hpp"
#include "train/notebook.hpp"
#include "train/run_log.hpp"
#include "train/stages.hpp"
#include "train/trainer.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace gh::host {

// Where networks come from, and what for.
struct Purpose {
  std::filesystem::path run = {};      // checkpoints to start from may lie there; empty: nowhere
  std::filesystem::path encoder = {};  // a file with all of the encoder's weights; empty: none
  bool evaluates = true;               // [[eval]] will be asked, so what it needs has to be there
};

// Members are destroyed in reverse order: later ones look at earlier ones.
struct Assembly {
  // Throws RecipeRefused with every component's complaints at once. Recipe, registry and process
  // outlive the assembly.
  Assembly(const Recipe& recipe, Registry& registry, Process& process, const TrainPlan& plan,
           const Purpose& purpose);
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  Trainer trainer(RunDirectory& directory, CheckpointStore& checkpoints, RunStatus& status,
                  Loader& loader);
  // `status` is told who evaluates; may be null.
  Evaluators evaluators(RunStatus* status);
  // Of each training sample, undefined where there are none.
  at::Tensor classes() const {
    return train.target_kind() == TargetKind::classes ? train.targets() : at::Tensor();
  }

  const Recipe& recipe;
  Registry& registry;
  Process& process;
  RunLog log;
  bool encoder_only;  // the encoder was loaded from a file, and nothing of what follows it
  TrainPlan plan;
  Components components;
  SampleSet train;
  SplitStore splits;
  Notebook notebook;
  EncoderMaker encoders;
  HostServices host;
  std::vector<Stage> stages;
  Certificate certificate;
  std::optional<Harmonizer> harmonizer;

 private:
  Say listener();
  void build(bool evaluates);
  void check_components(Diagnostics& problems);
  void build_networks(Diagnostics& problems);
  void check_evaluators(int64_t width, Diagnostics& problems);
};

}  // namespace gh::host
