// Few-shot accuracy: each sample goes to the nearest mean of a few labelled training samples of
// each class; repeated with other samples, averaged.
#include "gh/classification.hpp"
#include "gh/component.hpp"
#include "gh/feature_choice.hpp"
#include "gh/rows.hpp"
#include "gh/split_checks.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

class FewShot final : public gh::Evaluator {
 public:
  explicit FewShot(const gh::Params& params)
      : settings_(gh::read_classification(params)),
        level_(gh::feature_level(params)),
        shots_(params.integer("shots")),
        draws_(params.integer("draws")) {}

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    gh::check_classification(settings_, facts, out);
    gh::check_labelled_split(facts, "train", "split", out);
  }

  void evaluate(gh::Evaluation& evaluation) override {
    const gh::Features bank = evaluation.features({.level = level_, .split = "train"});
    const gh::Features asked = evaluation.features({.level = level_, .split = settings_.split});
    const int64_t classes = evaluation.class_counts().size(0);
    const at::Tensor x = gh::unit_rows(bank.x), y = gh::unit_rows(asked.x);
    gh::Random random = evaluation.random("shots");
    std::vector<at::Tensor> ranked, targets;
    double sum = 0, squares = 0;
    for (int64_t draw = 0; draw < draws_; ++draw) {
      const at::Tensor scores = similarities(x, bank.targets, y, classes, random);
      ranked.push_back(gh::ranked_classes(scores));
      targets.push_back(asked.targets);
      const double accuracy =
          100 * ranked.back().select(1, 0).eq(asked.targets).to(at::kDouble).mean().item<double>();
      sum += accuracy;
      squares += accuracy * accuracy;
    }
    const double n = static_cast<double>(draws_), mean = sum / n;
    gh::report_classification(evaluation, settings_,
                              {at::cat(ranked), at::cat(targets), asked.class_names},
                              "nearest mean of " + std::to_string(shots_) + " samples a class, " +
                                  std::to_string(draws_) + " draws");
    evaluation.metric("draw_deviation", std::sqrt(std::max(0.0, squares / n - mean * mean)),
                      "standard deviation of accuracy over the draws, percent");
  }

 private:
  // Cosines [n, classes] of samples and means of `shots` rows of each class, drawn anew.
  at::Tensor similarities(const at::Tensor& x, const at::Tensor& labels, const at::Tensor& y,
                          int64_t classes, gh::Random& random) const {
    at::Tensor scores = at::full({y.size(0), classes}, -std::numeric_limits<float>::infinity());
    for (int64_t c = 0; c < classes; ++c) {
      const at::Tensor members = labels.eq(c).nonzero().squeeze(1);
      const int64_t count = std::min(shots_, members.size(0));
      if (count == 0) continue;
      const at::Tensor drawn =
          members.index_select(0, random.permutation(members.size(0)).narrow(0, 0, count));
      const at::Tensor mean = x.index_select(0, drawn).mean({0}, true);
      scores.select(1, c).copy_(y.matmul(gh::unit_rows(mean).t()).squeeze(1));
    }
    return scores;
  }

  gh::ClassificationSettings settings_;
  gh::FeatureLevel level_;
  int64_t shots_, draws_;
};

constexpr gh::Param kParams[] = {
    GH_CLASSIFICATION_PARAMS,
    GH_LEVEL_PARAM("backbone"),
    gh::integer("shots", "5", "labelled samples of each class").at_least(1),
    gh::integer("draws", "10", "repetitions with other samples").at_least(1).at_most(1000),
};
constexpr gh::Component kComponents[] = {
    gh::describe<FewShot>("few_shot", "accuracy of the nearest mean of a few samples", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Few-shot accuracy by nearest class means")
