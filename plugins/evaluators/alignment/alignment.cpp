// The two sides of a contrastive loss (Wang and Isola, ICML 2020): how near two views of one sample
// lie on the unit sphere, and how evenly samples fill it.
#include "gh/class_groups.hpp"
#include "gh/component.hpp"
#include "gh/feature_choice.hpp"
#include "gh/interrupt.hpp"
#include "gh/number_text.hpp"
#include "gh/rows.hpp"

#include <ATen/ops/mm.h>
#include <ATen/ops/triu.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace {

constexpr int64_t kBlock = 1024;  // rows whose distances to all are held at a time
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string short_number(double value) { return gh::number_text("%g", value); }

// log of the mean of exp(−t·|x − y|²) over pairs of different rows of unit length; NaN without one.
double log_mean_potential(const at::Tensor& x, double t) {
  const int64_t n = x.size(0);
  if (n < 2) return kNone;
  double sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    gh::throw_if_interrupted();
    const int64_t rows = std::min(kBlock, n - i);
    const at::Tensor cosines = at::mm(x.narrow(0, i, rows), x.narrow(0, i, n - i).t());
    // |x − y|² = 2 − 2·cos. What lies on or below the diagonal is the pair itself, or comes twice.
    sum += at::triu(((cosines - 1) * (2 * t)).exp_(), 1).sum(at::kDouble).item<double>();
  }
  return std::log(sum / (0.5 * static_cast<double>(n) * static_cast<double>(n - 1)));
}

class Alignment final : public gh::Evaluator {
 public:
  explicit Alignment(const gh::Params& params)
      : chosen_(gh::read_features(params)), alpha_(params.real("alpha")), t_(params.real("t")) {}

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    gh::check_features(facts, chosen_, out);
  }

  void evaluate(gh::Evaluation& evaluation) override {
    const gh::Features& first = view(evaluation, 0);
    const at::Tensor x = gh::unit_rows(first.x.to(at::kFloat)),
                     y = gh::unit_rows(view(evaluation, 1).x.to(at::kFloat));
    const at::Tensor apart = (x - y).norm(2, {1}).to(at::kDouble).pow(alpha_);
    const std::string of =
        ", " + gh::level_name(chosen_.level) + " features of unit length, split " + chosen_.split;
    evaluation.metric("alignment", apart.mean().item<double>(),
                      "mean |x − y|^" + short_number(alpha_) +
                          " of two training views of a sample" + of + "; 0 is best");
    evaluation.metric("uniformity", log_mean_potential(x, t_),
                      "log of the mean of exp(−" + short_number(t_) +
                          "·|x − y|²) over pairs of different samples, one view each" + of +
                          "; 0: all in one place, lower is more even");
    if (const at::Tensor counts = evaluation.class_counts();
        counts.defined() && first.targets.defined())
      report_groups(evaluation, gh::class_groups(chosen_.groups, counts), first.targets, apart, x);
  }

 private:
  const gh::Features& view(gh::Evaluation& evaluation, int64_t draw) const {
    return evaluation.features(
        {.level = chosen_.level, .split = chosen_.split, .views = "train", .draw = draw});
  }

  void report_groups(gh::Evaluation& evaluation, const gh::ClassGroups& groups,
                     const at::Tensor& targets, const at::Tensor& apart,
                     const at::Tensor& x) const {
    for (const gh::ClassGroup& group : groups.groups) {
      const at::Tensor rows = gh::samples_of(group, targets);
      evaluation.metric(
          "alignment_" + group.name,
          rows.numel() == 0 ? kNone : apart.index_select(0, rows).mean().item<double>(),
          "the same of the group's " + std::to_string(rows.numel()) + " samples; " +
              groups.definition);
      evaluation.metric("uniformity_" + group.name, log_mean_potential(x.index_select(0, rows), t_),
                        "the same between samples of the group");
    }
  }

  gh::FeatureChoice chosen_;
  double alpha_, t_;
};

constexpr gh::Param kParams[] = {
    GH_FEATURE_PARAMS("which samples", "embedding"),
    gh::real("alpha", "2", "exponent of the distance of two views").above(0),
    gh::real("t", "2", "of exp(−t·|x − y|²)").above(0),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Alignment>(
        "alignment", "distance of two views of a sample, and how evenly samples fill the sphere",
        kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Alignment and uniformity on the unit sphere")
