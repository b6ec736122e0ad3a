#include "tuned_network.hpp"

#include "gh/plot.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace tuning {
namespace {

constexpr std::chrono::seconds kQuiet{20};  // between two messages

std::string training_views(const TuningSettings& settings, const gh::RunFacts& facts) {
  if (settings.train_views != "auto") return settings.train_views;
  const std::vector<int64_t> shape =
      facts.view_shapes.empty() ? std::vector<int64_t>{} : facts.view_shapes.front();
  if (shape.size() != 3) return "plain";
  return shape[1] == 32 ? "probe-32" : shape[1] == 224 ? "probe-224" : "plain";
}

// Speaks at most once in kQuiet, so that short work is silent.
class Progress {
 public:
  Progress(gh::Evaluation& evaluation, const TrainingPlan& plan)
      : evaluation_(evaluation), plan_(plan) {}
  void note(int64_t epoch, int64_t seen, double mean_loss) {
    const auto now = std::chrono::steady_clock::now();
    if (now - spoke_ < kQuiet) return;
    spoke_ = now;
    char text[120];
    std::snprintf(text, sizeof text, "epoch %lld of %lld, sample %lld of %lld, loss %.4g",
                  static_cast<long long>(epoch + 1), static_cast<long long>(plan_.epochs),
                  static_cast<long long>(seen), static_cast<long long>(plan_.samples), mean_loss);
    evaluation_.say(gh::Severity::info, text);
  }

 private:
  gh::Evaluation& evaluation_;
  const TrainingPlan& plan_;
  std::chrono::steady_clock::time_point spoke_ = std::chrono::steady_clock::now();
};

}  // namespace

TuningSettings read_tuning(const gh::Params& params) {
  return {.scratch = params.text("from") == "scratch",
          .frozen = params.boolean("frozen"),
          .train_split = std::string(params.text("train_split")),
          .train_views = std::string(params.text("train_views")),
          .epochs = params.integer("epochs"),
          .batch = params.integer("batch"),
          .rate = params.real("rate"),
          .weight_decay = params.real("weight_decay")};
}

void check_tuning(const TuningSettings& settings, const gh::EvalFacts& facts, gh::Complaints& out) {
  if (!settings.train_views.starts_with("probe-")) return;
  const int64_t side = settings.train_views == "probe-32" ? 32 : 224;
  if (facts.sample_shape.size() != 3 || facts.sample_shape[1] != side)
    out.add("train_views", settings.train_views + " gives images of " + std::to_string(side) +
                               " pixels, which is not what this run's network sees");
}

std::string in_words(const TuningSettings& settings) {
  return std::string(settings.scratch ? "a new encoder" : "the run's encoder") +
         " with a linear head, " + (settings.frozen ? "head only, " : "") + "trained on " +
         settings.train_split + " for " + std::to_string(settings.epochs) + " epochs";
}

TunedNetwork::TunedNetwork(gh::Evaluation& evaluation, const TuningSettings& settings,
                           int64_t outputs)
    : frozen_(settings.frozen) {
  if (settings.scratch) {
    auto* services =
        static_cast<gh::EvaluationServices*>(evaluation.query(gh::EvaluationServices::kId));
    gh::require(services != nullptr, gh::ErrorCode::unsupported,
                "this host makes no new encoders; from = \"run\" needs none");
    encoder_ = services->fresh_encoder("encoder");
  } else {
    encoder_ = evaluation.clone_encoder();
  }
  gh::Random random = evaluation.random("head");
  head_ = gh::standard_layers()->linear({.in = encoder_->features(), .out = outputs}, random);
  head_->to(evaluation.facts().device, evaluation.facts().dtype);
  encoder_->requires_grad(!frozen_);
  head_->requires_grad(true);
}

at::Tensor TunedNetwork::forward(const at::Tensor& x) {
  return head_->forward(encoder_->forward(x));
}

void TunedNetwork::train(bool on) {
  encoder_->train(on && !frozen_);
  head_->train(on);
}

std::vector<TrainedTensor> TunedNetwork::trained(double head_factor) const {
  std::vector<TrainedTensor> out;
  if (!frozen_)
    for (const gh::NamedTensor& p : encoder_->parameters()) out.push_back({p.tensor, 1});
  for (const gh::NamedTensor& p : head_->parameters()) out.push_back({p.tensor, head_factor});
  return out;
}

std::vector<at::Tensor> TunedNetwork::tensors() const {
  std::vector<at::Tensor> out;
  for (const gh::Layer* part : {static_cast<const gh::Layer*>(encoder_.get()),
                                static_cast<const gh::Layer*>(head_.get())}) {
    for (const gh::NamedTensor& t : part->parameters()) out.push_back(t.tensor);
    for (const gh::NamedTensor& t : part->buffers()) out.push_back(t.tensor);
  }
  return out;
}

std::vector<at::Tensor> TunedNetwork::snapshot() const {
  std::vector<at::Tensor> out;
  for (const at::Tensor& t : tensors()) out.push_back(t.detach().clone());
  return out;
}

void TunedNetwork::restore(const std::vector<at::Tensor>& values) {
  at::NoGradGuard no_grad;
  const std::vector<at::Tensor> own = tensors();
  for (std::size_t i = 0; i < own.size(); ++i) own[i].copy_(values[i]);
}

TrainingCurve train(gh::Evaluation& evaluation, const TuningSettings& settings,
                    TunedNetwork& network, Optimizer& optimizer, const TrainingPlan& plan) {
  at::AutoGradMode with_gradients(true);
  const std::string views = training_views(settings, evaluation.facts());
  const double all = static_cast<double>(plan.samples);
  Progress progress(evaluation, plan);
  TrainingCurve curve;
  for (int64_t epoch = 0; epoch < plan.epochs; ++epoch) {
    network.train(true);
    double loss_sum = 0, score_sum = 0, used = 0;
    int64_t seen = 0;
    const auto step = [&](const at::Tensor& x, const at::Tensor& y) {
      seen += x.size(0);
      // Normalisation over a single sample has no variance; a last batch of one is left out.
      if (x.size(0) == 1 && plan.samples > 1) return true;
      const double size = static_cast<double>(x.size(0));
      const TrainingPlan::Outcome outcome = plan.loss(network.forward(x), y.to(x.device()));
      const double loss = outcome.loss.item<double>();
      gh::require(std::isfinite(loss), gh::ErrorCode::numeric, "the loss is ", loss, " in epoch ",
                  epoch + 1, " of ", plan.epochs, ", after ", seen, " of ", plan.samples,
                  " samples; a lower rate may help");
      outcome.loss.backward();
      optimizer.step(
          plan.rate(static_cast<double>(epoch) + static_cast<double>(seen - x.size(0)) / all));
      loss_sum += loss * size;
      score_sum += outcome.score;
      used += size;
      progress.note(epoch, seen, loss_sum / used);
      return true;
    };
    evaluation.each_batch(
        {.level = gh::FeatureLevel::input, .split = settings.train_split, .views = views},
        plan.batch, epoch, step);
    curve.loss.push_back(loss_sum / used);
    curve.score.push_back(score_sum / used);
    if (plan.after_epoch) plan.after_epoch(epoch);
  }
  return curve;
}

Predictions predict(gh::Evaluation& evaluation, TunedNetwork& network, const std::string& split,
                    int64_t batch) {
  at::NoGradGuard no_grad;
  network.train(false);
  std::vector<at::Tensor> outputs, targets;
  evaluation.each_batch({.level = gh::FeatureLevel::input, .split = split}, batch, -1,
                        [&](const at::Tensor& x, const at::Tensor& y) {
                          outputs.push_back(network.forward(x).to(at::kCPU));
                          targets.push_back(y);
                          return true;
                        });
  gh::require(!outputs.empty(), gh::ErrorCode::missing_data, "split '", split, "' has no samples");
  return {at::cat(outputs), at::cat(targets)};
}

at::Tensor targets_of(gh::Evaluation& evaluation, const std::string& split) {
  const at::Tensor targets =
      evaluation.features({.level = gh::FeatureLevel::none, .split = split}).targets;
  gh::require(targets.defined() && targets.numel() > 0, gh::ErrorCode::missing_data, "split '",
              split, "' has no samples with targets to learn from");
  return targets.contiguous();
}

std::string curve_svg(const std::string& title, const std::vector<double>& values) {
  gh::LinePlot plot;
  plot.title = title;
  plot.x_label = "epoch";
  gh::PlotSeries line{.name = {}, .x = {}, .y = values};
  for (std::size_t i = 1; i <= values.size(); ++i) line.x.push_back(static_cast<double>(i));
  plot.add(std::move(line));
  return plot.svg();
}

}  // namespace tuning
