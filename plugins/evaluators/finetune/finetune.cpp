// Evaluators that train a copy of the encoder with labels: for classes and for real targets.
#include "evaluators.hpp"

#include "gh/component.hpp"

namespace {

constexpr gh::Param kFinetuneParams[] = {
    GH_CLASSIFICATION_PARAMS,
    GH_TUNING_PARAMS,
    gh::choice("loss", "ce", "ce|logit-adjusted",
               "cross entropy, or that of logits + log(frequency^tau) (Menon et al. 2021)"),
    gh::real("tau", "1.0", "exponent of logit-adjusted").at_least(0),
    GH_TUNING_LENGTH("100", "128"),
    gh::real("rate", "0.1", "learning rate of SGD with momentum 0.9").above(0),
    gh::real("head_rate", "1.0", "learning rate of the head, times rate").above(0),
    gh::real("weight_decay", "1e-4", "added to the gradient of every parameter").at_least(0),
    gh::boolean("nesterov", "true", "Nesterov's momentum"),
    gh::boolean("cosine", "true", "rate falls to 0 along half a cosine; else it is constant"),
};
constexpr gh::Param kRegressionParams[] = {
    gh::text("split", "\"test\"", "what is predicted"),
    gh::text("groups", "\"shots(100,20)\"",
             "target values by training samples: shots(100,20), terciles, deciles"),
    gh::real("bin", "1.0", "targets are rounded to multiples of it to count them").above(0),
    GH_TUNING_PARAMS,
    gh::text("validation", "\"\"", "split that chooses the epoch; empty: the last epoch"),
    gh::boolean("standardize", "false",
                "learn targets with mean 0 and variance 1; published: as they are"),
    GH_TUNING_LENGTH("90", "256"),
    gh::real("rate", "1e-3", "learning rate of Adam").above(0),
    gh::integers("drops", "[60, 80]", "after which the rate is a tenth")
        .at_least(1)
        .at_most(1000000)
        .in("epochs"),
    gh::real("weight_decay", "0.0", "added to the gradient of every parameter").at_least(0),
};
constexpr gh::Component kComponents[] = {
    gh::describe<tuning::Finetune>(
        "finetune", "classes after training the encoder with labels, plain or logit-adjusted",
        kFinetuneParams),
    gh::describe<tuning::Regression>("regression",
                                     "errors of real targets after training the encoder with them",
                                     kRegressionParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Fine-tuning of the trained encoder, for classes and for real targets")
