// The evaluators of a recipe: called at the moments it names, or afterwards; what they find goes
// into the run directory.
#pragma once

#include "eval/evaluation.hpp"
#include "eval/moment.hpp"
#include "harmonize/harmonizer.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"
#include "run/run_directory.hpp"
#include "train/encoder_maker.hpp"
#include "train/run_log.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gh::host {

// All of it outlives the evaluators.
struct EvaluatorParts {
  const Recipe& recipe;
  const TrainPlan& plan;
  const Components& components;
  Host& host;
  EncoderMaker& encoders;
  RunLog& log;
  SplitStore& splits;
  const SampleSet& train;
  const Harmonizer* harmonizer;  // null without [harmonize]
  RunStatus* status;             // is told who evaluates; may be null
  bool embeds = true;            // as in EvaluationSource
};

class Evaluators {
 public:
  explicit Evaluators(EvaluatorParts parts) : parts_(std::move(parts)) {}

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

 private:
  EvalFacts facts(int64_t width) const;
  bool due(std::size_t evaluator, const EvaluationMoment& moment) const;
  // Returns why it failed, "" when it did not.
  std::string evaluate(RunDirectory& directory, std::size_t evaluator, FeatureCache& cache,
                       nlohmann::ordered_json result);
  EvaluationSource source(FeatureCache& cache) const;

  EvaluatorParts parts_;
};

// Of results of a trained network.
std::string label_of(const Made<SslMethod>& method, bool harmonized);

}  // namespace gh::host
