// The evaluator "regression".
#include "evaluators.hpp"
#include "shot_errors.hpp"

#include "gh/number_text.hpp"
#include "gh/plot.hpp"
#include "gh/split_checks.hpp"

#include <ATen/ops/l1_loss.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace tuning {
namespace {

constexpr double kDrop = 0.1;  // of the rate, at each of `drops`

std::string shown(double value) { return gh::number_text("%.4g", value); }

// What the network learns is (target − shift) / scale.
struct Units {
  double shift = 0, scale = 1;
};

Units standard_units(const at::Tensor& targets) {
  const double mean = targets.mean().item<double>();
  const double spread = (targets - mean).square().mean().sqrt().item<double>();
  return {mean, spread > 0 ? spread : 1};
}

at::Tensor numbers(const Predictions& found, const Units& units) {
  return found.outputs.squeeze(1).to(at::kDouble).mul(units.scale).add(units.shift).contiguous();
}

void check_targets(const char* key, const std::string& split, const gh::EvalFacts& facts,
                   gh::Complaints& out) {
  if (!gh::check_split(facts, split, key, out) || !facts.real_targets) return;
  const gh::SplitFacts* const known = gh::facts_of(facts, split);
  if (known && known->targets != gh::TargetKind::real)
    out.add(key, "split '" + split + "' has no real targets, which are needed here");
}

void write_errors(gh::Evaluation& evaluation, const ShotErrors& errors, const std::string& words) {
  std::ostringstream clamp;
  clamp << "errors below " << kLeastError << " count as " << kLeastError;
  const std::string mae = "mean of |error|, ", gm = "geometric mean of |error|, ";
  evaluation.metric("mae", errors.all.mean, mae + "all samples; " + words);
  evaluation.metric("gm", errors.all.geometric_mean, gm + "all samples; " + clamp.str());
  // Columns are named as metrics, so that the report finds their exact values.
  std::vector<std::string> columns = {"mae"}, row = {shown(errors.all.mean)};
  std::vector<std::string> geometric_columns = {"gm"},
                           geometric = {shown(errors.all.geometric_mean)};
  for (std::size_t g = 0; g < errors.groups.size(); ++g) {
    const ErrorMeans& e = errors.groups[g];
    const std::string name = errors.names[g], count = std::to_string(e.samples) + " samples";
    evaluation.metric("mae_" + name, e.mean, mae + count + "; " + errors.definition);
    evaluation.metric("gm_" + name, e.geometric_mean, gm + count + "; " + clamp.str());
    columns.push_back("mae_" + name);
    row.push_back(shown(e.mean));
    geometric_columns.push_back("gm_" + name);
    geometric.push_back(shown(e.geometric_mean));
  }
  columns.insert(columns.end(), geometric_columns.begin(), geometric_columns.end());
  row.insert(row.end(), geometric.begin(), geometric.end());
  const std::vector<std::vector<std::string>> rows = {row};
  evaluation.table("groups",
                   words +
                       ". Mean (mae) and geometric mean (gm) of |error| over the samples of a "
                       "group; " +
                       errors.definition + "; for gm " + clamp.str(),
                   columns, rows);
}

void write_values(gh::Evaluation& evaluation, const ShotErrors& errors) {
  const std::vector<std::string> columns = {"target", "training samples", "tested", "mae"};
  std::vector<std::vector<std::string>> rows;
  gh::PlotSeries line;
  for (const ShotErrors::Bin& bin : errors.bins) {
    rows.push_back({shown(bin.value), std::to_string(bin.trained), std::to_string(bin.tested),
                    shown(bin.mean)});
    if (bin.tested == 0) continue;
    line.x.push_back(bin.value);
    line.y.push_back(bin.mean);
  }
  evaluation.table("values", "Every target value, rounded", columns, rows);
  gh::LinePlot plot;
  plot.title = "mean |error|";
  plot.x_label = "target value";
  plot.add(std::move(line));
  evaluation.picture("errors", "Mean |error| of the samples at each target value.", "image/svg+xml",
                     plot.svg());
}

}  // namespace

Regression::Regression(const gh::Params& params)
    : tuning_(read_tuning(params)),
      split_(params.text("split")),
      validation_(params.text("validation")),
      groups_(params.text("groups")),
      bin_(params.real("bin")),
      drops_(params.integers("drops").begin(), params.integers("drops").end()),
      standardize_(params.boolean("standardize")) {}

void Regression::check(const gh::EvalFacts& facts, gh::Complaints& out) const {
  if (!facts.real_targets) out.add(".data", "regression needs real targets, one a sample");
  check_targets("split", split_, facts, out);
  if (!validation_.empty()) check_targets("validation", validation_, facts, out);
  check_targets("train_split", tuning_.train_split, facts, out);
  check_tuning(tuning_, facts, out);
  gh::check_class_groups(groups_, "groups", out);
  if (groups_.find("lists") != groups_.npos)
    out.add("groups", "target values have no labels that lists could name");
}

double Regression::rate_at(double epochs_done) const {
  double rate = tuning_.rate;
  for (const int64_t drop : drops_)
    if (epochs_done >= static_cast<double>(drop)) rate *= kDrop;
  return rate;
}

std::string Regression::words() const {
  return in_words(tuning_) + " with L1" +
         (standardize_ ? " on standardised targets" : " on targets as they are") +
         (validation_.empty() ? ", last epoch" : ", best epoch on " + validation_) + ", split " +
         split_;
}

void Regression::evaluate(gh::Evaluation& evaluation) {
  const at::Tensor trained = targets_of(evaluation, tuning_.train_split).to(at::kDouble);
  const Units units = standardize_ ? standard_units(trained) : Units{};
  TunedNetwork network(evaluation, tuning_, 1);
  Adam optimizer(network.trained(1), tuning_.weight_decay);
  TrainingPlan plan{.epochs = tuning_.epochs, .batch = tuning_.batch, .samples = trained.numel()};
  plan.rate = [&](double done) { return rate_at(done); };
  plan.loss = [&](const at::Tensor& outputs, const at::Tensor& y) {
    const at::Tensor wanted = ((y - units.shift) / units.scale).to(outputs.scalar_type());
    const at::Tensor loss = at::l1_loss(outputs.squeeze(1), wanted);
    return TrainingPlan::Outcome{
        loss, loss.item<double>() * units.scale * static_cast<double>(y.size(0))};
  };

  double best = std::numeric_limits<double>::infinity();
  std::vector<at::Tensor> kept;
  std::vector<double> validated;
  if (!validation_.empty())
    plan.after_epoch = [&](int64_t) {
      const Predictions found = predict(evaluation, network, validation_, tuning_.batch);
      validated.push_back((numbers(found, units) - found.targets).abs().mean().item<double>());
      if (validated.back() >= best) return;
      best = validated.back();
      kept = network.snapshot();
    };
  const TrainingCurve curve = train(evaluation, tuning_, network, optimizer, plan);
  if (!kept.empty()) network.restore(kept);

  evaluation.picture("training_error", "Mean |error| of each epoch while it was trained.",
                     "image/svg+xml", curve_svg("mean |error|, training", curve.score));
  if (!validated.empty()) {
    const auto at = std::min_element(validated.begin(), validated.end()) - validated.begin();
    evaluation.metric("best_epoch", static_cast<double>(at + 1),
                      "epoch with the least mean |error| on " + validation_);
    evaluation.picture("validation_error", "Mean |error| on " + validation_ + " after each epoch.",
                       "image/svg+xml", curve_svg("mean |error|, validation", validated));
  }
  const Predictions found = predict(evaluation, network, split_, tuning_.batch);
  const ShotErrors errors = shot_errors(
      groups_, bin_, trained, found.targets.to(at::kDouble).contiguous(), numbers(found, units));
  write_errors(evaluation, errors, words());
  write_values(evaluation, errors);
}

}  // namespace tuning
