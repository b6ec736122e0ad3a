// The evaluators of a recipe: called at the moments it names, or afterwards; what they find goes
// into the run directory.
#pragma once

#include "eval/evaluation.hpp"
#include "harmonize/harmonizer.hpp"
#include "run/run_directory.hpp"
#include "train/components.hpp"
#include "train/host_services.hpp"
#include "train/plan.hpp"
#include "train/trainer.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gh::host {

// All of it outlives the evaluations.
struct EvaluationParts {
  const Recipe& recipe;
  const TrainPlan& plan;
  const Components& components;
  HostServices& host;
  SplitStore& splits;
  const SampleSet& train;
  const Harmonizer* harmonizer;  // null without [harmonize]
  RunStatus* status;             // is told who evaluates; may be null
  bool embeds = true;            // as in EvaluationSource
};

class Evaluations {
 public:
  explicit Evaluations(EvaluationParts parts) : parts_(std::move(parts)) {}

  // Asks every evaluator what it has against this run, after a look at every split. `width` is the
  // embedding's.
  void check(int64_t width, Diagnostics& problems) const;
  // Those whose time has come. One that fails leaves a result with the reason. Throws gh::Error
  // (interrupted), on all ranks, when a signal came.
  void run(RunDirectory& directory, const EvaluationMoment& moment);
  // All of them, likewise. `facts` are added to each result: which weights, what was changed.
  // Returns the reasons of those that failed.
  std::vector<std::string> run_afterwards(RunDirectory& directory, int64_t epochs, bool harmonized,
                                          const nlohmann::ordered_json& facts);
  // What GH has to say of itself at the end.
  void write_harmony(RunDirectory& directory, int64_t epochs, bool harmonized) const;

 private:
  EvalFacts facts(int64_t width) const;
  bool due(std::size_t evaluator, const EvaluationMoment& moment) const;
  // Returns why it failed, "" when it did not.
  std::string evaluate(RunDirectory& directory, std::size_t evaluator, FeatureCache& cache,
                       nlohmann::ordered_json result);
  EvaluationSource source(FeatureCache& cache) const;
  std::string label(bool harmonized) const;  // of a trained network

  EvaluationParts parts_;
};

// A resolved table as JSON.
nlohmann::ordered_json to_json(const Table& table);

}  // namespace gh::host
