#include "train/evaluations.hpp"

#include "data/index_file.hpp"
#include "pictures/harmony_pictures.hpp"
#include "recipe/placed_complaints.hpp"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>

namespace gh::host {
namespace {

nlohmann::ordered_json to_json(const Value& value) {
  if (const Table* table = value.as<Table>()) return host::to_json(*table);
  if (const Array* array = value.as<Array>()) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const Value& each : *array) out.push_back(to_json(each));
    return out;
  }
  if (const std::string* text = value.as<std::string>()) return *text;
  if (const bool* truth = value.as<bool>()) return *truth;
  if (const int64_t* number = value.as<int64_t>()) return *number;
  return json_number(*value.as<double>());
}

// GH goes on with its own, whatever an evaluator does to this.
at::Tensor copied(const at::Tensor& t, at::ScalarType type) {
  return t.defined() ? t.detach().to(at::kCPU, type, /*non_blocking=*/false, /*copy=*/true) : t;
}

}  // namespace

nlohmann::ordered_json to_json(const Table& table) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Entry& entry : table.entries()) out[entry.key] = to_json(entry.value);
  return out;
}

EvalFacts Evaluations::facts(int64_t width) const {
  EvalFacts facts;
  facts.splits = parts_.splits.names();
  facts.class_targets = parts_.train.target_kind() == TargetKind::classes;
  facts.real_targets = parts_.train.target_kind() == TargetKind::real;
  facts.multi_targets = parts_.train.target_kind() == TargetKind::multi;
  facts.sample_shape = parts_.plan.plain_views.shape_of(0, parts_.train.vector_shape());
  facts.feature_width = parts_.components.method.ask("encoder", &SslMethod::encoder)->features();
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

void Evaluations::check(int64_t width, Diagnostics& problems) const {
  if (parts_.components.evaluators.empty()) return;
  const EvalFacts known = facts(width);
  for (const Made<Evaluator>& evaluator : parts_.components.evaluators) {
    PlacedComplaints out(parts_.recipe, parts_.recipe.slot(evaluator.path), problems);
    evaluator.ask("check", &Evaluator::check, known, out);
  }
}

// An epoch that is also the end of the warm-up or of training is evaluated once.
bool Evaluations::due(std::size_t evaluator, const EvaluationMoment& moment) const {
  const TrainPlan::EvalTimes& times = parts_.plan.eval_times[evaluator];
  if (moment.name != "epoch") return times.moments.contains(moment.name);
  return times.every > 0 && moment.epochs % times.every == 0 &&
         !(moment.last && times.moments.contains("end")) &&
         !(moment.warm_up && times.moments.contains("warm-up"));
}

std::string Evaluations::label(bool harmonized) const {
  return parts_.recipe.slot("method").id + (harmonized ? " + GH" : "");
}

void Evaluations::run(RunDirectory& directory, const EvaluationMoment& moment) {
  FeatureCache cache;
  for (std::size_t i = 0; i < parts_.components.evaluators.size(); ++i)
    if (due(i, moment))
      evaluate(directory, i, cache,
               {{"moment", moment.name},
                {"epoch", moment.epochs},
                {"step", moment.step},
                {"label", moment.name == "start" ? "untrained" : label(moment.harmonized)}});
}

std::vector<std::string> Evaluations::run_afterwards(RunDirectory& directory, int64_t epochs,
                                                     bool harmonized,
                                                     const nlohmann::ordered_json& facts) {
  FeatureCache cache;
  std::vector<std::string> failed;
  for (std::size_t i = 0; i < parts_.components.evaluators.size(); ++i) {
    nlohmann::ordered_json result = {
        {"moment", "afterwards"}, {"epoch", epochs}, {"label", label(harmonized)}};
    result.update(facts);
    if (std::string error = evaluate(directory, i, cache, std::move(result)); !error.empty())
      failed.push_back(std::move(error));
  }
  return failed;
}

// What an evaluator cannot do costs its own result: the others are called all the same.
std::string Evaluations::evaluate(RunDirectory& directory, std::size_t evaluator,
                                  FeatureCache& cache, nlohmann::ordered_json result) {
  const Slot& slot = *parts_.recipe.evals()[evaluator];
  const auto started = std::chrono::steady_clock::now();
  EvaluationRun evaluation(source(cache), slot.id);
  if (parts_.status) parts_.status->doing("evaluating " + slot.id);
  const std::string error = evaluation.carry_out([&] {
    parts_.components.evaluators[evaluator].ask("evaluate", &Evaluator::evaluate, evaluation);
  });
  nlohmann::ordered_json whole = {
      {"evaluator", slot.id},           {"slot", slot.path},
      {"params", to_json(slot.params)}, {"data", parts_.train.fingerprint()},
      {"splits", evaluation.splits()},  {"seed", parts_.plan.seed}};
  whole.update(result);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
  if (error.empty()) {
    whole.update(evaluation.results());
    directory.write_result(std::move(whole), evaluation.pictures(), spent.count());
  } else {
    whole["error"] = error;
    parts_.host.say(Severity::warning, error);
    directory.write_result(std::move(whole), {}, spent.count());
  }
  if (parts_.status) parts_.status->doing("training");
  return error;
}

EvaluationSource Evaluations::source(FeatureCache& cache) const {
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
              [this](std::string_view purpose) { return parts_.host.fresh_encoder(purpose); },
          .say = [this](Severity s, std::string_view text) { parts_.host.say(s, text); },
          .skipped = [this](const std::string& reason) { parts_.host.skipped(reason); }};
}

void Evaluations::write_harmony(RunDirectory& directory, int64_t epochs, bool harmonized) const {
  if (!parts_.harmonizer) return;
  nlohmann::ordered_json metrics = nlohmann::ordered_json::array();
  const auto metric = [&](const char* name, double value, const char* definition) {
    metrics.push_back({{"name", name}, {"value", json_number(value)}, {"definition", definition}});
  };
  const SurrogateStatistics now = parts_.harmonizer->statistics();
  metric("points_effective", now.effective,
         "exp of the entropy of the shares of samples: as many points, were all equal");
  metric("points_dead", static_cast<double>(now.dead), "points to which no sample leans");
  metric("prior_tv_uniform", now.prior_from_uniform.total_variation,
         "total variation between the prior and a uniform one, 0 … 1");
  if (now.has_classes) {
    metric("prior_tv_classes", now.prior_from_classes.total_variation,
           "total variation between the prior and the class sizes, both sorted, half a sample "
           "added to each entry");
    metric("surrogate_nmi", now.agreement.nmi_arithmetic,
           "mutual information of the samples' points and classes over the arithmetic mean of "
           "both entropies; points by the momentum table, training set");
    metric("surrogate_purity", now.agreement.purity,
           "share of samples whose class is the commonest one at their point");
  }
  const at::Tensor classes =
      parts_.train.target_kind() == TargetKind::classes ? parts_.train.targets() : at::Tensor();
  std::vector<RunDirectory::Picture> pictures;
  for (HarmonyPicture& p : draw_harmony(*parts_.harmonizer, classes))
    pictures.push_back(
        {std::move(p.name), std::move(p.caption), std::move(p.mime), std::move(p.bytes)});
  directory.write_result({{"evaluator", "harmonize"},
                          {"slot", "harmonize"},
                          {"moment", "end"},
                          {"epoch", epochs},
                          {"label", label(harmonized)},
                          {"data", parts_.train.fingerprint()},
                          {"seed", parts_.plan.seed},
                          {"metrics", metrics}},
                         pictures);
}

}  // namespace gh::host
