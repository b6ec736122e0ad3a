#include "session/evaluators.hpp"

#include "data/index_file.hpp"
#include "recipe/placed_complaints.hpp"
#include "session/recipe_json.hpp"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>

namespace gh::host {
namespace {

// GH goes on with its own, whatever an evaluator does to this.
at::Tensor copied(const at::Tensor& t, at::ScalarType type) {
  return t.defined() ? t.detach().to(at::kCPU, type, /*non_blocking=*/false, /*copy=*/true) : t;
}

}  // namespace

std::string label_of(const Made<SslMethod>& method, bool harmonized) {
  return method.slot.id + (harmonized ? " + GH" : "");
}

EvalFacts Evaluators::facts(int64_t width) const {
  EvalFacts facts;
  facts.splits = parts_.splits.names();
  facts.class_targets = parts_.train.target_kind() == TargetKind::classes;
  facts.real_targets = parts_.train.target_kind() == TargetKind::real;
  facts.multi_targets = parts_.train.target_kind() == TargetKind::multi;
  facts.sample_shape = parts_.plan.plain_views.shape_of(0, parts_.train.vector_shape());
  facts.feature_width = parts_.components.method.call("encoder", &SslMethod::encoder)->features();
  facts.embedding_width = width;
  for (SplitStore::Known& known : parts_.splits.look()) {
    facts.split_facts.push_back(std::move(known.facts));
    facts.class_counts.push_back(std::move(known.class_counts));
  }
  facts.harmonize_points = parts_.host.facts().harmonize_points;
  facts.positions = [known = facts.split_facts](std::string_view split, std::string_view file) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const SplitFacts& each) { return each.name == split; });
    require(found != known.end(), ErrorCode::invalid_param, "split '", split, "' is not open");
    return at::tensor(read_index_file(std::string(file), found->samples), at::kLong);
  };
  return facts;
}

void Evaluators::check(int64_t width, Diagnostics& problems) const {
  if (parts_.components.evaluators.empty()) return;
  const EvalFacts known = facts(width);
  for (const Made<Evaluator>& evaluator : parts_.components.evaluators) {
    PlacedComplaints out(parts_.recipe, evaluator.slot, problems);
    evaluator.call("check", &Evaluator::check, known, out);
  }
}

// An epoch that is also the end of the warm-up or of training is evaluated once.
bool Evaluators::due(std::size_t evaluator, const EvaluationMoment& moment) const {
  const TrainPlan::EvalTimes& times = parts_.plan.eval_times[evaluator];
  if (moment.name != "epoch") return times.moments.contains(moment.name);
  return times.every > 0 && moment.epochs % times.every == 0 &&
         !(moment.last && times.moments.contains("end")) &&
         !(moment.warm_up && times.moments.contains("warm-up"));
}

void Evaluators::run(RunDirectory& directory, const EvaluationMoment& moment) {
  FeatureCache cache;
  for (std::size_t i = 0; i < parts_.components.evaluators.size(); ++i)
    if (due(i, moment))
      evaluate(directory, i, cache,
               {{"moment", moment.name},
                {"epoch", moment.epochs},
                {"step", moment.step},
                {"label", moment.name == "start"
                              ? "untrained"
                              : label_of(parts_.components.method, moment.harmonized)}});
}

std::vector<std::string> Evaluators::run_afterwards(RunDirectory& directory, int64_t epochs,
                                                    bool harmonized,
                                                    const nlohmann::ordered_json& facts) {
  FeatureCache cache;
  std::vector<std::string> failed;
  for (std::size_t i = 0; i < parts_.components.evaluators.size(); ++i) {
    nlohmann::ordered_json result = {{"moment", "afterwards"},
                                     {"epoch", epochs},
                                     {"label", label_of(parts_.components.method, harmonized)}};
    result.update(facts);
    if (std::string error = evaluate(directory, i, cache, std::move(result)); !error.empty())
      failed.push_back(std::move(error));
  }
  return failed;
}

// What an evaluator cannot do costs its own result: the others are called all the same.
std::string Evaluators::evaluate(RunDirectory& directory, std::size_t evaluator,
                                 FeatureCache& cache, nlohmann::ordered_json result) {
  const Made<Evaluator>& made = parts_.components.evaluators[evaluator];
  const Slot& slot = made.slot;
  const auto started = std::chrono::steady_clock::now();
  EvaluationRun evaluation(source(cache), slot.id);
  if (parts_.status) parts_.status->doing("evaluating " + slot.id);
  const std::string error =
      evaluation.carry_out([&] { made.call("evaluate", &Evaluator::evaluate, evaluation); });
  nlohmann::ordered_json whole = {
      {"evaluator", slot.id},           {"slot", slot.path},
      {"params", to_json(slot.params)}, {"data", parts_.train.fingerprint()},
      {"splits", evaluation.splits()},  {"seed", parts_.plan.seed}};
  whole.update(result);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
  if (error.empty()) {
    whole.update(evaluation.results());
    directory.write_result(std::move(whole), evaluation.pictures(), spent.count(),
                           evaluation.files());
  } else {
    whole["error"] = error;
    parts_.log.say(Severity::warning, error);
    directory.write_result(std::move(whole), {}, spent.count());
  }
  if (parts_.status) parts_.status->doing("training");
  return error;
}

EvaluationSource Evaluators::source(FeatureCache& cache) const {
  const Harmonizer* harmonizer = parts_.embeds ? parts_.harmonizer : nullptr;
  return {.method = *parts_.components.method,
          .host = parts_.host,
          .splits = parts_.splits,
          .views = parts_.plan.views,
          .plain_views = parts_.plan.plain_views,
          .loader = parts_.plan.loader,
          .cache = cache,
          .points = harmonizer ? copied(harmonizer->points(), at::kFloat) : at::Tensor(),
          .prior = harmonizer ? copied(harmonizer->prior(), at::kDouble) : at::Tensor(),
          .embeds = parts_.embeds,
          .fresh_encoder =
              [this](std::string_view purpose) { return parts_.encoders.make_fresh(purpose); },
          .say = [this](Severity s, std::string_view text) { parts_.log.say(s, text); },
          .skipped = [this](const std::string& reason) { parts_.log.skipped(reason); }};
}

}  // namespace gh::host
