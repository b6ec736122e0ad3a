// A copy of an encoder with a linear head, and its training on a split: what the evaluators of this
// plugin share. All of it on the training thread.
#pragma once

#include "optimizer.hpp"

#include "gh/evaluator.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// Parameters of both evaluators. read_tuning() reads these, and rate and weight_decay, for which
// each evaluator has a line of its own.
#define GH_TUNING_PARAMS                                                                           \
  gh::choice("from", "run", "run|scratch",                                                         \
             "begin with a copy of the run's encoder, or with a new one"),                         \
      gh::boolean("frozen", "false", "train the head only; the encoder stays in evaluation mode"), \
      gh::text("train_split", "\"train\"", "what is learned from; train is the thinned set"),      \
      gh::choice("train_views", "auto", "auto|plain|train|probe-32|probe-224",                     \
                 "augmentation while training; auto: probe-32 or probe-224 for images of that "    \
                 "size, else plain")

#define GH_TUNING_LENGTH(epochs, batch)                    \
  gh::integer("epochs", epochs, "passes over train_split") \
      .at_least(1)                                         \
      .at_most(1000000)                                    \
      .in("epochs"),                                       \
      gh::integer("batch", batch, "samples a step").at_least(1).at_most(1 << 20)

namespace tuning {

struct TuningSettings {
  bool scratch = false, frozen = false;
  std::string train_split, train_views;
  int64_t epochs = 0, batch = 0;
  double rate = 0, weight_decay = 0;
};

TuningSettings read_tuning(const gh::Params& params);
// Whether train_views fit; the split is the evaluator's to check, who knows its targets.
void check_tuning(const TuningSettings& settings, const gh::EvalFacts& facts, gh::Complaints& out);
// What was trained, on what and for how long.
std::string in_words(const TuningSettings& settings);

class TunedNetwork {
 public:
  // Throws Error unsupported where a new encoder is asked for and the host makes none.
  TunedNetwork(gh::Evaluation& evaluation, const TuningSettings& settings, int64_t outputs);

  at::Tensor forward(const at::Tensor& x);  // [B, …] → [B, outputs]
  void train(bool on);
  // What an optimiser moves; the head's rate is `head_factor` times the encoder's.
  std::vector<TrainedTensor> trained(double head_factor) const;
  // All values as they are, and back.
  std::vector<at::Tensor> snapshot() const;
  void restore(const std::vector<at::Tensor>& values);

 private:
  std::vector<at::Tensor> tensors() const;

  bool frozen_;
  std::shared_ptr<gh::Encoder> encoder_;
  std::shared_ptr<gh::Layer> head_;
};

struct TrainingPlan {
  int64_t epochs = 0, batch = 0, samples = 0;
  std::function<double(double epochs_done)> rate = {};  // at a fractional number of epochs
  // The mean loss of a batch, and the sum over its samples of what the second curve shows.
  struct Outcome {
    at::Tensor loss;
    double score = 0;
  };
  std::function<Outcome(const at::Tensor& outputs, const at::Tensor& targets)> loss = {};
  std::function<void(int64_t epoch)> after_epoch = {};  // may be empty
};

// Means over the samples of each epoch, while it was trained.
struct TrainingCurve {
  std::vector<double> loss, score;
};

// Says now and then where it stands. Throws Error numeric, naming the epoch, when the loss is not
// finite.
TrainingCurve train(gh::Evaluation& evaluation, const TuningSettings& settings,
                    TunedNetwork& network, Optimizer& optimizer, const TrainingPlan& plan);

struct Predictions {
  at::Tensor outputs;  // [n, outputs] CPU, in the order of the split
  at::Tensor targets;  // as the split has them
};
// Without augmentation, in evaluation mode. Throws Error missing_data for a split without samples.
Predictions predict(gh::Evaluation& evaluation, TunedNetwork& network, const std::string& split,
                    int64_t batch);

// The targets of a split, without reading a sample; Error missing_data where there is none.
at::Tensor targets_of(gh::Evaluation& evaluation, const std::string& split);

// A line by epoch, counted from 1.
std::string curve_svg(const std::string& title, const std::vector<double>& values);

}  // namespace tuning
