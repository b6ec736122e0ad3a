// The evaluator "finetune".
#include "class_loss.hpp"
#include "evaluators.hpp"

#include "gh/schedule.hpp"
#include "gh/split_checks.hpp"

#include <ATen/ops/bincount.h>

#include <sstream>

namespace tuning {

Finetune::Finetune(const gh::Params& params)
    : tuning_(read_tuning(params)),
      settings_(gh::read_classification(params)),
      adjusted_(params.text("loss") == "logit-adjusted"),
      tau_(params.real("tau")),
      head_factor_(params.real("head_rate")),
      nesterov_(params.boolean("nesterov")),
      cosine_(params.boolean("cosine")) {}

void Finetune::check(const gh::EvalFacts& facts, gh::Complaints& out) const {
  gh::check_classification(settings_, facts, out);
  gh::check_labelled_split(facts, tuning_.train_split, "train_split", out);
  check_tuning(tuning_, facts, out);
}

std::string Finetune::words() const {
  std::ostringstream text;
  text << in_words(tuning_) << " with " << (adjusted_ ? "logit-adjusted " : "") << "cross entropy";
  if (adjusted_) text << " (tau " << tau_ << ")";
  return text.str();
}

void Finetune::evaluate(gh::Evaluation& evaluation) {
  const int64_t classes = evaluation.class_counts().numel();
  const at::Tensor labels = targets_of(evaluation, tuning_.train_split);
  const int64_t least = labels.min().item<int64_t>(), most = labels.max().item<int64_t>();
  gh::require(least >= 0 && most < classes, gh::ErrorCode::invalid_param, "label ",
              least < 0 ? least : most, " of split '", tuning_.train_split,
              "' is none of the training set's ", classes, " classes");
  const at::Tensor adjustment =
      adjusted_ ? log_prior(at::bincount(labels, {}, classes), tau_) : at::Tensor();

  TunedNetwork network(evaluation, tuning_, classes);
  Sgd optimizer(network.trained(head_factor_), nesterov_ ? Momentum::nesterov : Momentum::plain,
                tuning_.weight_decay);
  TrainingPlan plan{.epochs = tuning_.epochs, .batch = tuning_.batch, .samples = labels.numel()};
  plan.rate = [&](double done) {
    return cosine_ ? gh::half_cosine(tuning_.rate, 0, done, static_cast<double>(tuning_.epochs))
                   : tuning_.rate;
  };
  plan.loss = [&](const at::Tensor& logits, const at::Tensor& y) {
    return TrainingPlan::Outcome{class_loss(logits, y, adjustment),
                                 100 * (logits.argmax(1) == y).sum().item<double>()};
  };
  const TrainingCurve curve = train(evaluation, tuning_, network, optimizer, plan);
  evaluation.picture("training_loss", "Mean loss of each epoch while it was trained.",
                     "image/svg+xml", curve_svg("training loss", curve.loss));
  evaluation.picture("training_accuracy",
                     "Training samples told right while they were trained on, augmented, by the "
                     "raw logits.",
                     "image/svg+xml", curve_svg("training accuracy, %", curve.score));

  // The adjustment is for training only: logits that were right with it treat all classes as
  // equally frequent without it.
  const Predictions found = predict(evaluation, network, settings_.split, tuning_.batch);
  const auto& names =
      evaluation.features({.level = gh::FeatureLevel::none, .split = settings_.split}).class_names;
  gh::report_classification(evaluation, settings_,
                            {gh::ranked_classes(found.outputs), found.targets, names}, words());
}

}  // namespace tuning
