// How many dimensions features use: few where the representation collapsed. Entropy of singular
// values (Roy and Vetterli, EUSIPCO 2007) and participation ratio of variances.
#include "gh/class_groups.hpp"
#include "gh/component.hpp"
#include "gh/feature_choice.hpp"
#include "gh/plot.hpp"

#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/mm.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Squares of the singular values of centred rows, largest first. A mean of products rather than
// singular values themselves: it is as wide as features, however many samples there are.
std::vector<double> variances(const at::Tensor& x) {
  if (x.size(0) < 2) return {};
  const at::Tensor rows = x.to(at::kDouble);
  const at::Tensor centred = rows - rows.mean(0, true);
  const at::Tensor values =
      at::linalg_eigvalsh(at::mm(centred.t(), centred)).clamp_min(0).flip(0).contiguous();
  // What rounding leaves of zeros.
  const double least = 1e-14 * static_cast<double>(x.size(1)) * values[0].item<double>();
  std::vector<double> out(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
  for (double& value : out)
    if (value <= least) value = 0;
  return out;
}

double effective_rank(const std::vector<double>& squares) {
  double sum = 0, entropy = 0;
  for (const double square : squares) sum += std::sqrt(square);
  if (sum == 0) return kNone;
  for (const double square : squares)
    if (const double p = std::sqrt(square) / sum; p > 0) entropy -= p * std::log(p);
  return std::exp(entropy);
}

double participation_ratio(const std::vector<double>& squares) {
  double sum = 0, fourth = 0;
  for (const double square : squares) sum += square, fourth += square * square;
  return sum == 0 ? kNone : sum * sum / fourth;
}

// log₁₀ of singular values over the largest.
gh::PlotSeries spectrum(const std::string& name, const std::vector<double>& squares) {
  gh::PlotSeries line{.name = name, .x = {}, .y = {}};
  for (std::size_t i = 0; i < squares.size() && squares[i] > 0; ++i) {
    line.x.push_back(static_cast<double>(i + 1));
    line.y.push_back(0.5 * std::log10(squares[i] / squares[0]));
  }
  return line;
}

class EffectiveRank final : public gh::Evaluator {
 public:
  explicit EffectiveRank(const gh::Params& params) : chosen_(gh::read_features(params)) {}

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    gh::check_features(facts, chosen_, out);
  }

  void evaluate(gh::Evaluation& evaluation) override {
    const gh::Features& features =
        evaluation.features({.level = chosen_.level, .split = chosen_.split});
    gh::LinePlot plot;
    plot.title = "log₁₀ of singular values over the largest";
    plot.x_label = "singular value";
    const std::vector<double> all = variances(features.x);
    const std::string of = " of centred " + gh::level_name(chosen_.level) + " features, split " +
                           chosen_.split + ", width " + std::to_string(features.x.size(1));
    evaluation.metric("effective_rank", effective_rank(all),
                      "exp of the entropy of singular values that are scaled to sum to 1," + of);
    evaluation.metric("participation_ratio", participation_ratio(all),
                      "(Σλ)²/Σλ² of the variances λ along principal axes," + of);
    plot.add(spectrum("all", all));
    if (const at::Tensor counts = evaluation.class_counts();
        counts.defined() && features.targets.defined())
      for (const gh::ClassGroups groups = gh::class_groups(chosen_.groups, counts);
           const gh::ClassGroup& group : groups.groups)
        report_group(evaluation, group, groups.definition, features, plot);
    evaluation.picture("spectrum",
                       "Singular values of centred features, of all samples and of each group: a "
                       "line that falls early uses few dimensions, one that ends has no more.",
                       "image/svg+xml", plot.svg());
  }

 private:
  static void report_group(gh::Evaluation& evaluation, const gh::ClassGroup& group,
                           const std::string& definition, const gh::Features& features,
                           gh::LinePlot& plot) {
    const at::Tensor rows = gh::samples_of(group, features.targets);
    const std::vector<double> found = variances(features.x.index_select(0, rows));
    evaluation.metric("effective_rank_" + group.name, effective_rank(found),
                      "the same of the group's " + std::to_string(rows.numel()) +
                          " samples about their own mean, at most one less than samples; " +
                          definition);
    evaluation.metric("participation_ratio_" + group.name, participation_ratio(found),
                      "the same of the group's samples");
    plot.add(spectrum(group.name, found));
  }

  gh::FeatureChoice chosen_;
};

constexpr gh::Param kParams[] = {
    GH_FEATURE_PARAMS("which samples", "backbone"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<EffectiveRank>(
        "effective_rank", "how many dimensions features use, and their singular values", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Dimensions that features use")
