// [train], with its optimizers and schedules.
#include "recipe/table_parts.hpp"

namespace gh::host {
namespace {

using Presence = TableSpec::Presence;

constexpr Param kTrain[] = {
    gh::integer("epochs", nullptr, "passes over the training split")
        .at_least(1)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::integer("batch", nullptr, "samples a step").at_least(1).at_most(kMostSamples),
    gh::integer(
        "accumulate", "1",
        "parts a batch is computed in, one after the other; losses that compare samples see "
        "one part at a time")
        .at_least(1)
        .at_most(kMostSamples),
    gh::boolean("drop_last", "false", "leave out the last batch of an epoch when it is not full"),
    gh::real("clip", "0.0", "largest norm of the gradient; 0: any").at_least(0),
    gh::text("device", "\"auto\"",
             "\"cpu\", \"cuda\", \"cuda:1\", …; \"auto\" takes a CUDA device where there is one"),
    gh::integer("threads", "0",
                "threads that compute; 0: all cores, shared among the ranks on them")
        .at_least(0)
        .at_most(1024),
    gh::choice("dtype", "float32", "float32|float64", "precision of parameters and activations"),
    gh::choice("autocast", "off", "off|bf16|fp16",
               "lower precision inside operators, on CUDA; fp16 scales the loss"),
    gh::boolean("channels_last", "false", "pictures lie in memory with their channels innermost"),
    gh::choice("convolution", "auto", "auto|fast|exact|onednn",
               "on the CPU; fast: Winograd F(4x4), exact: F(2x2), onednn: LibTorch's own"),
};

constexpr Param decay_bias_and_norm(const char* by_default) {
  return gh::boolean("decay_bias_and_norm", by_default,
                     "parameters of one dimension decay too, unless the method says otherwise");
}
constexpr Param kSgd[] = {
    gh::real("lr", nullptr, "learning rate").above(0),
    gh::real("momentum", "0.9", "momentum").at_least(0).below(1),
    gh::real("weight_decay", "0.0", "L2 penalty").at_least(0),
    gh::boolean("nesterov", "false", "Nesterov momentum"),
    decay_bias_and_norm("true"),
};
constexpr Param kLars[] = {
    gh::real("lr", nullptr, "learning rate").above(0),
    gh::real("momentum", "0.9", "momentum").at_least(0).below(1),
    gh::real("weight_decay", "1e-6", "L2 penalty").at_least(0),
    gh::real("eta", "0.001", "a layer's step as a part of its norm").above(0),
    gh::boolean("decay_bias_and_norm", "false",
                "parameters of one dimension decay and are scaled too, unless the method says "
                "otherwise"),
};
constexpr Param kAdam[] = {
    gh::real("lr", "1e-3", "learning rate").above(0),
    gh::real("beta1", "0.9", "decay of the mean of gradients").at_least(0).below(1),
    gh::real("beta2", "0.999", "decay of the mean of squared gradients").at_least(0).below(1),
    gh::real("epsilon", "1e-8", "added to the denominator").above(0),
    gh::real("weight_decay", "0.0", "L2 penalty").at_least(0),
    decay_bias_and_norm("true"),
};
constexpr Param kAdamW[] = {
    gh::real("lr", "1e-3", "learning rate").above(0),
    gh::real("beta1", "0.9", "decay of the mean of gradients").at_least(0).below(1),
    gh::real("beta2", "0.999", "decay of the mean of squared gradients").at_least(0).below(1),
    gh::real("epsilon", "1e-8", "added to the denominator").above(0),
    gh::real("weight_decay", "0.01",
             "share of the weights taken off in a step, times the learning rate")
        .at_least(0),
    decay_bias_and_norm("true"),
};

constexpr Param kCosine[] = {
    gh::integer("warm_up", "0", "linear rise of the learning rate at the start")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::real("lr_min", "0.0", "learning rate at the end").at_least(0),
    gh::choice(
        "per", "epoch", "epoch|step",
        "how often the rate changes: by epoch it is that of the epoch's end, by step that of "
        "the step"),
};
constexpr Param kStep[] = {
    gh::integer("warm_up", "0", "linear rise of the learning rate at the start")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::integers("milestones", nullptr, "after which the rate is multiplied by gamma")
        .at_least(1)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::real("gamma", "0.1", "factor").above(0).at_most(1),
};
constexpr Param kTwoStage[] = {
    gh::integer("warm_up", "10", "linear rise of the learning rate at the start")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::real("lr_split", "0.3", "learning rate at which GH takes over").above(0),
    gh::real("lr_min", "1e-6", "learning rate at the end").at_least(0),
};

}  // namespace

TableSpec train_table() {
  TableSpec optimizer =
      tagged_table("optimizer", "", "How gradients move the weights",
                   {{"sgd", "stochastic gradient descent with momentum", read_schema(kSgd)},
                    {"lars", "layer-wise adaptive rates, for large batches", read_schema(kLars)},
                    {"adam", "Adam", read_schema(kAdam)},
                    {"adamw", "Adam with decoupled weight decay", read_schema(kAdamW)}});
  TableSpec schedule = tagged_table(
      "schedule", "constant", "Learning rate over time",
      {{"constant", "the optimizer's rate throughout", {}},
       {"cosine", "half a cosine from the optimizer's rate to lr_min", read_schema(kCosine)},
       {"step", "a factor at each milestone", read_schema(kStep)},
       {"gh-two-stage", "one cosine for the warm-up, another for GH", read_schema(kTwoStage)}});
  return host_table("train", Presence::required, "How long, how fast, in which precision",
                    read_schema(kTrain), {std::move(optimizer), std::move(schedule)});
}

}  // namespace gh::host
