// Classes by the nearest neighbours in a labelled bank: no parameter is learned, so what is
// measured is the representation alone. Weighted as Wu et al. (CVPR 2018) have it, or a plain
// majority.
#include "gh/component.hpp"
#include "gh/feature_choice.hpp"
#include "gh/number_text.hpp"
#include "gh/ops/nearest.hpp"
#include "gh/rows.hpp"
#include "gh/split_checks.hpp"
#include "neighbours.hpp"
#include "votes.hpp"

#include <algorithm>
#include <string>

namespace {

using gh::ops::NearestMetric;

class Knn final : public gh::Evaluator {
 public:
  explicit Knn(const gh::Params& params)
      : settings_(gh::read_classification(params)),
        level_(gh::feature_level(params)),
        bank_(params.text("bank")),
        k_(params.integer("k")),
        temperature_(params.real("temperature")),
        weighted_(params.text("vote") == "weighted"),
        shots_(params.integer("shots")),
        list_(params.has("list") ? params.text("list") : "") {}

  static void validate(const gh::Params& params, gh::Complaints& out) {
    if (params.has("list") && params.integer("shots") > 0)
      out.add("shots", "the bank is given by list already; leave one of the two out");
    if (params.text("bank") == params.text("split"))
      out.add("bank", "every sample of '" + std::string(params.text("split")) +
                          "' would be its own nearest neighbour; the bank must be another split");
  }

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    gh::check_classification(settings_, facts, out);
    if (!gh::check_labelled_split(facts, bank_, "bank", out)) return;
    const int64_t rows = gh::count_training_samples(facts, bank_, shots_, list_, "list", out);
    if (rows >= 0 && k_ > rows)
      out.add("k", "expected at most the " + std::to_string(rows) + " samples of the bank, got " +
                       std::to_string(k_));
  }

  void evaluate(gh::Evaluation& evaluation) override {
    const at::Tensor samples = gh::training_samples(evaluation, bank_, shots_, list_);
    const gh::Features bank =
        evaluation.features({.level = level_, .split = bank_, .samples = samples});
    const gh::Features asked = evaluation.features({.level = level_, .split = settings_.split});
    const int64_t rows = bank.x.size(0), classes = evaluation.class_counts().numel();
    gh::require(k_ <= rows, gh::ErrorCode::invalid_param, "k = ", k_, ", but the bank has ", rows,
                " samples");
    const int64_t largest = bank.targets.max().item<int64_t>();
    gh::require(largest < classes, gh::ErrorCode::invalid_param, "label ", largest, " of split '",
                bank_, "' is none of the training set's ", classes, " classes");

    const gh::ops::NearestResult found =
        weighted_ ? gh::ops::nearest(gh::unit_rows(bank.x), gh::unit_rows(asked.x), k_,
                                     NearestMetric::inner_product)
                  : gh::ops::nearest(bank.x, asked.x, k_, NearestMetric::euclidean);
    const at::Tensor ranked = elect(found.indices, weighted_ ? found.values : at::Tensor(),
                                    temperature_, bank.targets, classes);
    const gh::Classified outcome{ranked, asked.targets, asked.class_names};
    gh::report_classification(evaluation, settings_, outcome, in_words(rows));
    draw_neighbours(evaluation, settings_, outcome, {bank_, samples, bank.targets, found.indices});
  }

 private:
  std::string in_words(int64_t rows) const {
    const std::string nearest = std::to_string(k_) + " nearest of " + std::to_string(rows) +
                                " samples of " + bank_ + " by " +
                                (weighted_ ? "cosine" : "Euclidean distance") + " of " +
                                gh::level_name(level_) + " features, ";
    return nearest + (weighted_ ? "votes exp(cos/" + gh::number_text("%g", temperature_) + ")"
                                : "one vote each, the lowest label of equal ones");
  }

  gh::ClassificationSettings settings_;
  gh::FeatureLevel level_;
  std::string bank_;
  int64_t k_;
  double temperature_;
  bool weighted_;
  int64_t shots_;
  std::string list_;
};

constexpr gh::Param kParams[] = {
    GH_CLASSIFICATION_PARAMS,
    GH_LEVEL_PARAM("backbone"),
    gh::text("bank", "\"train\"",
             "labelled split: train is the thinned training set, train:full all of it"),
    gh::integer("k", "20", "neighbours that vote").at_least(1).at_most(1000000),
    gh::real("temperature", "0.07", "of weights exp(cos/temperature); not for majority").above(0),
    gh::choice("vote", "weighted", "weighted|majority",
               "weighted: cosines, exp(cos/temperature); majority: Euclidean distances of raw "
               "features, one vote each"),
    gh::integer("shots", "0", "samples of each class in the bank; 0: all")
        .at_least(0)
        .at_most(1000000),
    gh::path("list", nullptr, "file with the positions of the bank's samples in its split")
        .optional(),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Knn>("knn", "accuracy of a vote of nearest neighbours, by groups of classes",
                      kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Nearest neighbours as a classifier")
