// The linear probe: how well one linear layer tells classes from the features of the frozen
// backbone. Two published protocols, and one that minimises the same loss directly.
#include "gh/classification.hpp"
#include "gh/component.hpp"
#include "gh/ops/linear_classifier.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

// What a recipe may change of a protocol.
struct Protocol {
  std::string name;
  int64_t epochs = 0, batch = 0;
  double rate = 0, l2 = 0;
  bool choose_l2 = false;
};

Protocol read_protocol(const gh::Params& params, bool few_shot) {
  Protocol p{.name = std::string(params.text("protocol"))};
  if (p.name == "gh") {
    p.epochs = 500, p.batch = 1000, p.rate = 1e-2, p.l2 = 5e-6;
  } else if (p.name == "sdclr") {
    p.epochs = few_shot ? 100 : 30, p.batch = 512, p.rate = 30;
  } else {
    p.choose_l2 = !params.has("l2");
  }
  if (params.has("epochs")) p.epochs = params.integer("epochs");
  if (params.has("batch")) p.batch = params.integer("batch");
  if (params.has("rate")) p.rate = params.real("rate");
  if (params.has("l2")) p.l2 = params.real("l2");
  return p;
}

gh::ops::LinearTraining training_of(const Protocol& protocol, bool few_shot) {
  const bool adam = protocol.name == "gh";
  gh::ops::LinearTraining out{
      .optimizer = adam ? gh::ops::LinearOptimizer::adam : gh::ops::LinearOptimizer::sgd,
      .l2 = protocol.l2,
      .batch = protocol.batch,
      .rates = {}};
  // SDCLR's drops are after 10 and 20 of 30 epochs, few-shot after 40 and 60 of 100.
  const double first = few_shot ? 0.4 : 1.0 / 3, second = few_shot ? 0.6 : 2.0 / 3;
  for (int64_t e = 0; e < protocol.epochs; ++e) {
    const double done = static_cast<double>(e) / static_cast<double>(protocol.epochs);
    const double drops = (done >= first - 1e-9) + (done >= second - 1e-9);
    out.rates.push_back(protocol.rate * (adam ? std::pow(1e-4, done) : std::pow(0.1, drops)));
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// One random crop and flip for a training picture, as the protocols have it, at the two sizes that
// they are published for.
std::string usual_views(const gh::RunFacts& facts) {
  const bool pictures = !facts.view_shapes.empty() && facts.view_shapes[0].size() == 3;
  const int64_t side = pictures ? facts.view_shapes[0].back() : 0;
  return side == 32 ? "probe-32" : side == 224 ? "probe-224" : "plain";
}

class LinearProbe final : public gh::Evaluator {
 public:
  explicit LinearProbe(const gh::Params& params)
      : settings_(gh::read_classification(params)),
        train_split_(params.text("train_split")),
        train_views_(params.has("train_views") ? params.text("train_views") : ""),
        list_(params.has("list") ? params.text("list") : ""),
        shots_(params.integer("shots")),
        protocol_(read_protocol(params, shots_ > 0 || !list_.empty())) {
    for (const char* name : {"epochs", "batch", "rate"})
      if (params.has(name)) given_.emplace_back(name);
  }

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    gh::check_classification(settings_, facts, out);
    if (std::find(facts.splits.begin(), facts.splits.end(), train_split_) == facts.splits.end())
      out.add("train_split", "the data set has no split '" + train_split_ + "'");
    if (train_split_ == settings_.split)
      out.add("train_split", "the probe would learn from the samples that it is tested on");
    if (shots_ > 0 && !list_.empty())
      out.add("shots", "the samples are either drawn or listed: give shots or list");
    if (protocol_.name != "fast") return;
    for (const std::string& name : given_)
      out.add(name, "protocol \"fast\" minimises the loss itself and has no " + name +
                        "; choose \"gh\" or \"sdclr\"");
  }

  void evaluate(gh::Evaluation& evaluation) override {
    using gh::FeatureLevel;
    const at::Tensor chosen = gh::training_samples(evaluation, train_split_, shots_, list_);
    const std::string views = train_views_.empty() ? usual_views(evaluation.facts()) : train_views_;
    const gh::Features& train = evaluation.features({.level = FeatureLevel::backbone,
                                                     .split = train_split_,
                                                     .views = views,
                                                     .samples = chosen});
    gh::require(train.x.size(0) > 0, gh::ErrorCode::missing_data, "split '", train_split_,
                "' gives the probe no sample to learn from");
    const gh::ops::LinearClassifier probe = learn(evaluation, train);
    evaluation.metric("train_accuracy", accuracy(train, probe),
                      "samples that the probe learnt from and classifies correctly, percent");
    const gh::Features& test =
        evaluation.features({.level = FeatureLevel::backbone, .split = settings_.split});
    gh::report_classification(
        evaluation, settings_,
        {gh::ranked_classes(gh::ops::linear_scores(test.x, probe)), test.targets, test.class_names},
        "linear probe, protocol " + protocol_.name + ", learnt from " +
            std::to_string(train.x.size(0)) + " samples of " + train_split_);
  }

 private:
  static double accuracy(const gh::Features& features, const gh::ops::LinearClassifier& probe) {
    const at::Tensor said = gh::ops::linear_scores(features.x, probe).argmax(1);
    const auto right = said.eq(features.targets).sum().item<int64_t>();
    return 100 * static_cast<double>(right) / static_cast<double>(said.numel());
  }

  gh::ops::LinearClassifier learn(gh::Evaluation& evaluation, const gh::Features& train) const {
    const int64_t classes = evaluation.class_counts().numel();
    if (protocol_.name == "fast") return minimise(evaluation, train, classes);
    const gh::Random stream = evaluation.random("linear_probe");
    gh::Random orders = stream.fork("orders");
    const int64_t rows = train.x.size(0), tell = std::max<int64_t>(1, protocol_.epochs / 5);
    return gh::ops::train_linear(
        train.x, train.targets,
        gh::ops::linear_start(classes, train.x.size(1), train.x.scalar_type(),
                              stream.fork("start")),
        training_of(protocol_, shots_ > 0 || !list_.empty()), [&](int64_t epoch) {
          if (epoch > 0 && epoch % tell == 0)
            evaluation.say(gh::Severity::detail, "linear probe: epoch " + std::to_string(epoch) +
                                                     " of " + std::to_string(protocol_.epochs));
          return orders.permutation(rows);
        });
  }

  gh::ops::LinearClassifier minimise(gh::Evaluation& evaluation, const gh::Features& train,
                                     int64_t classes) const {
    const gh::ops::LogisticRegression regression(train.x, train.targets, classes);
    const gh::ops::LogisticFit fit =
        protocol_.choose_l2 ? gh::ops::fit_with_chosen_l2(regression, evaluation.random("held-out"))
                            : regression.fit({.l2 = protocol_.l2});
    evaluation.metric("l2", fit.l2,
                      protocol_.choose_l2
                          ? "weight of |W|²/2 beside the mean cross entropy, chosen on a tenth of "
                            "the training samples"
                          : "weight of |W|²/2 beside the mean cross entropy, as given");
    evaluation.say(gh::Severity::detail, "linear probe: l2 " + number(fit.l2) + ", " +
                                             std::to_string(fit.passes) + " passes");
    return fit.classifier;
  }

  gh::ClassificationSettings settings_;
  std::string train_split_, train_views_, list_;
  int64_t shots_;
  Protocol protocol_;
  std::vector<std::string> given_;  // what a direct minimisation has no use for
};

constexpr gh::Param kParams[] = {
    GH_CLASSIFICATION_PARAMS,
    gh::choice("protocol", "gh", "gh|sdclr|fast", "how the layer is trained; see the README"),
    gh::text("train_split", "\"train:full\"", "what it learns from"),
    gh::text("train_views", nullptr,
             "views of training samples; by default probe-32 or probe-224 for pictures of that "
             "size, plain for all else")
        .optional(),
    gh::integer("shots", "0", "learn from so many samples of each class, drawn; 0: all")
        .at_least(0),
    gh::path("list", nullptr, "learn from the samples of train_split that this file names")
        .optional(),
    gh::integer("epochs", nullptr, "gh: 500; sdclr: 30, with shots or list 100")
        .at_least(1)
        .optional(),
    gh::integer("batch", nullptr, "gh: 1000; sdclr: 512").at_least(1).optional(),
    gh::real("rate", nullptr, "learning rate of the first epoch; gh: 0.01; sdclr: 30")
        .above(0)
        .optional(),
    gh::real("l2", nullptr, "gh: 5e-6, of weight and bias; sdclr: 0; fast: chosen, of weight")
        .at_least(0)
        .optional(),
};
constexpr gh::Component kComponents[] = {
    gh::describe<LinearProbe>(
        "linear_probe", "accuracy of a linear layer on the frozen backbone's features", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Linear probe with the protocols of GH and SDCLR, and a fast one")
