// The linear probe: how well one linear layer tells classes from the features of the frozen
// backbone. Two published protocols, one that ends where the first of them ends but sooner, and the
// minimum of the loss.
#include "schedules.hpp"

#include "gh/classification.hpp"
#include "gh/component.hpp"
#include "gh/number_text.hpp"
#include "gh/ops/linear_classifier.hpp"
#include "gh/split_checks.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace {

struct Protocol {
  std::string name;
  gh::ops::LinearTraining training;  // of all but logistic
  double l2 = 0;                     // of logistic
  bool choose_l2 = false;
};

Protocol read_protocol(const gh::Params& params, bool few_shot) {
  Protocol p{.name = std::string(params.text("protocol")), .training = {}};
  const bool sdclr = p.name == "sdclr";
  const auto integer = [&](const char* key, int64_t usual) {
    return params.has(key) ? params.integer(key) : usual;
  };
  const auto real = [&](const char* key, double usual) {
    return params.has(key) ? params.real(key) : usual;
  };
  if (p.name == "logistic") {
    p.choose_l2 = !params.has("l2");
    p.l2 = real("l2", 0);
    return p;
  }
  const int64_t epochs = integer("epochs", !sdclr ? 500 : few_shot ? 100 : 30);
  p.training.optimizer = sdclr ? gh::ops::LinearOptimizer::sgd : gh::ops::LinearOptimizer::adam;
  p.training.batch = integer("batch", sdclr ? 512 : 1000);
  p.training.l2 = real("l2", sdclr ? 0 : 5e-6);
  p.training.rates = sdclr ? gh::probe::sdclr_rates(epochs, real("rate", 30), few_shot)
                           : gh::probe::gh_rates(epochs, real("rate", 1e-2));
  if (p.name == "fast") p.training.rates = gh::probe::fast_rates(p.training.rates);
  return p;
}

// Why a protocol does not take a key; empty: it does.
std::string refusal(const std::string& protocol, const std::string& key) {
  if (protocol == "fast")
    return "protocol \"fast\" stands for \"gh\" as published and takes no " + key +
           "; choose \"gh\" to change it";
  if (protocol == "logistic" && key != "l2")
    return "protocol \"logistic\" minimises the loss itself and has no " + key +
           "; choose \"gh\" or \"sdclr\"";
  return "";
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
    for (const char* name : {"epochs", "batch", "rate", "l2"})
      if (params.has(name)) given_.emplace_back(name);
  }

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    gh::check_classification(settings_, facts, out);
    if (gh::check_labelled_split(facts, train_split_, "train_split", out))
      gh::count_training_samples(facts, train_split_, shots_, list_, "list", out);
    if (train_split_ == settings_.split)
      out.add("train_split", "the probe would learn from the samples that it is tested on");
    if (shots_ > 0 && !list_.empty())
      out.add("shots", "the samples are either drawn or listed: give shots or list");
    for (const std::string& name : given_) {
      const std::string why = refusal(protocol_.name, name);
      if (!why.empty()) out.add(name, why);
    }
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
        "linear probe, protocol " + protocol_.name + how_long() + ", learnt from " +
            std::to_string(train.x.size(0)) + " samples of " + train_split_);
  }

 private:
  static double accuracy(const gh::Features& features, const gh::ops::LinearClassifier& probe) {
    const at::Tensor said = gh::ops::linear_scores(features.x, probe).argmax(1);
    const auto right = said.eq(features.targets).sum().item<int64_t>();
    return 100 * static_cast<double>(right) / static_cast<double>(said.numel());
  }

  int64_t epochs() const { return static_cast<int64_t>(protocol_.training.rates.size()); }
  std::string how_long() const {
    if (protocol_.name == "logistic") return "";
    const std::string text = " of " + std::to_string(epochs()) + " epochs";
    return protocol_.name == "fast" ? text + " in place of gh's 500" : text;
  }

  gh::ops::LinearClassifier learn(gh::Evaluation& evaluation, const gh::Features& train) const {
    const int64_t classes = evaluation.class_counts().numel();
    if (protocol_.name == "logistic") return minimise(evaluation, train, classes);
    const gh::Random stream = evaluation.random("linear_probe");
    gh::Random orders = stream.fork("orders");
    const int64_t rows = train.x.size(0), tell = std::max<int64_t>(1, epochs() / 5);
    return gh::ops::train_linear(train.x, train.targets,
                                 gh::ops::linear_start(classes, train.x.size(1),
                                                       train.x.scalar_type(), stream.fork("start")),
                                 protocol_.training, [&](int64_t epoch) {
                                   if (epoch > 0 && epoch % tell == 0)
                                     evaluation.say(gh::Severity::detail,
                                                    "linear probe: epoch " + std::to_string(epoch) +
                                                        " of " + std::to_string(epochs()));
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
    evaluation.say(gh::Severity::detail, "linear probe: l2 " + gh::number_text("%.3g", fit.l2) +
                                             ", " + std::to_string(fit.passes) + " passes");
    return fit.classifier;
  }

  gh::ClassificationSettings settings_;
  std::string train_split_, train_views_, list_;
  int64_t shots_;
  Protocol protocol_;
  std::vector<std::string> given_;  // of the keys that not every protocol takes
};

constexpr gh::Param kParams[] = {
    GH_CLASSIFICATION_PARAMS,
    gh::choice("protocol", "gh", "gh|sdclr|fast|logistic",
               "how the layer is trained; see the README"),
    gh::text("train_split", "\"train:full\"", "what it learns from"),
    gh::text("train_views", nullptr,
             "views of training samples; by default probe-32 or probe-224 for pictures of that "
             "size, plain for all else")
        .optional(),
    gh::integer("shots", "0", "learn from so many samples of each class, drawn; 0: all")
        .at_least(0)
        .at_most(1000000),
    gh::path("list", nullptr, "learn from the samples of train_split that this file names")
        .optional(),
    gh::integer("epochs", nullptr, "gh: 500; sdclr: 30, with shots or list 100")
        .at_least(1)
        .at_most(1000000)
        .optional(),
    gh::integer("batch", nullptr, "gh: 1000; sdclr: 512").at_least(1).at_most(1 << 20).optional(),
    gh::real("rate", nullptr, "learning rate of the first epoch; gh: 0.01; sdclr: 30")
        .above(0)
        .optional(),
    gh::real("l2", nullptr, "gh: 5e-6, of weight and bias; sdclr: 0; logistic: chosen, of weight")
        .at_least(0)
        .optional(),
};
constexpr gh::Component kComponents[] = {
    gh::describe<LinearProbe>(
        "linear_probe", "accuracy of a linear layer on the frozen backbone's features", kParams),
};

}  // namespace

GH_PLUGIN(
    kComponents, .license = "MIT", .authors = "the ghhost authors",
    .doc = "Linear probe with the protocols of GH and SDCLR, a fast one and logistic regression")
