#include "eval/evaluation.hpp"

#include "eval/evaluation_mode.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

constexpr int64_t kFeatureBatch = 512;

}  // namespace

SplitStore::SplitStore(const Dataset& dataset, uint64_t seed, const SampleSet& train)
    : dataset_(dataset), seed_(seed), train_(train) {}

const SampleSet& SplitStore::get(const std::string& name) {
  if (name == "train") return train_;
  const auto found = others_.find(name);
  if (found != others_.end()) return found->second;
  const std::string split = name == "train:full" ? "train" : name;
  return others_.emplace(name, SampleSet::open(dataset_, split, seed_, std::nullopt)).first->second;
}

std::vector<std::string> SplitStore::names() const {
  std::vector<std::string> out = dataset_.splits();
  out.push_back("train:full");
  return out;
}

EvaluationRun::EvaluationRun(EvaluationSource source, std::string evaluator)
    : source_(std::move(source)), evaluator_(std::move(evaluator)) {
  results_ = {{"metrics", nlohmann::ordered_json::array()},
              {"tables", nlohmann::ordered_json::array()}};
}

const RunFacts& EvaluationRun::facts() const { return source_.host.facts(); }

Random EvaluationRun::random(std::string_view purpose) const {
  return Random(stream_key(facts().seed, "eval." + evaluator_ + "." + std::string(purpose)));
}

ViewPlan EvaluationRun::views_named(std::string_view name) const {
  if (name == "plain") return source_.plain_views;
  if (name == "train") return source_.views;
  std::optional<ViewPlan> preset = preset_views(name, source_.plain_views.groups.front().normalize);
  require(preset.has_value(), ErrorCode::invalid_param, "evaluator '", evaluator_,
          "' asks for views '", name,
          "'; there are \"plain\", \"train\" and the presets of [views]");
  return *preset;
}

const Features& EvaluationRun::features(const FeatureRequest& request) {
  const auto key = std::tuple(static_cast<int>(request.level), std::string(request.split),
                              std::string(request.views));
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second;

  at::NoGradGuard no_grad;
  const SampleSet& set = source_.splits.get(std::string(request.split));
  const EvaluationMode evaluation(source_.method);
  const auto encoder = source_.method.encoder();
  std::vector<at::Tensor> rows, targets;
  FeatureRequest input = request;
  input.level = FeatureLevel::input;
  each_batch(input, kFeatureBatch, -1, [&](at::Tensor x, const at::Tensor& y) {
    if (request.level == FeatureLevel::backbone) x = encoder->forward(x);
    if (request.level == FeatureLevel::embedding) x = source_.method.embed(x);
    rows.push_back(x.to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true));
    if (y.defined()) targets.push_back(y);
    return true;
  });
  Features out{.x = at::cat(rows),
               .targets = targets.empty() ? at::Tensor() : at::cat(targets),
               .class_names = set.class_names()};
  return cache_.emplace(key, std::move(out)).first->second;
}

at::Tensor EvaluationRun::class_counts() { return source_.splits.get("train").class_counts(); }

std::shared_ptr<Encoder> EvaluationRun::clone_encoder() {
  return source_.method.clone_encoder(source_.host);
}

void EvaluationRun::each_batch(
    const FeatureRequest& request, int64_t batch, int64_t epoch,
    const std::function<bool(const at::Tensor&, const at::Tensor&)>& use) {
  require(request.level == FeatureLevel::input, ErrorCode::invalid_param,
          "each_batch gives samples as the network sees them; ask "
          "for FeatureLevel::input");
  require(batch >= 1, ErrorCode::invalid_param, "a batch needs at least one sample, got ", batch);
  const SampleSet& set = source_.splits.get(std::string(request.split));
  const at::Tensor order = epoch < 0
                               ? at::arange(set.size(), at::kLong)
                               : Random(stream_key(facts().seed, "eval." + evaluator_ + ".order"),
                                        static_cast<uint64_t>(epoch))
                                     .permutation(set.size());
  const ViewPlan views = views_named(request.views);
  LoaderOptions options = source_.loader;
  options.views = 1;
  Loader loader(set, views, stream_key(facts().seed, "eval." + evaluator_), options);
  loader.begin({.epoch = std::max<int64_t>(epoch, 0), .order = order, .batch = batch});
  while (const std::optional<LoadedBatch> loaded = loader.next()) {
    for (const std::string& reason : loaded->skipped)
      say(Severity::warning, "another sample stands in for one that cannot be read: " + reason);
    const at::Tensor y =
        set.targets().defined() ? set.targets().index_select(0, loaded->indices) : at::Tensor();
    if (!use(loaded->views[0], y)) return;
  }
}

void EvaluationRun::metric(std::string_view name, double value, std::string_view definition) {
  nlohmann::ordered_json number = nullptr;
  if (std::isfinite(value)) number = value;
  results_["metrics"].push_back({{"name", name}, {"value", number}, {"definition", definition}});
}

void EvaluationRun::table(std::string_view name, std::string_view caption,
                          std::span<const std::string> columns,
                          std::span<const std::vector<std::string>> rows) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    require(row.size() == columns.size(), ErrorCode::internal, "table '", name, "' has a row of ",
            row.size(), " cells under ", columns.size(), " columns");
    lines.push_back(row);
  }
  results_["tables"].push_back(
      {{"name", name},
       {"caption", caption},
       {"columns", std::vector<std::string>(columns.begin(), columns.end())},
       {"rows", lines}});
}

void EvaluationRun::picture(std::string_view name, std::string_view caption, std::string_view mime,
                            std::string_view bytes) {
  require(mime == "image/svg+xml" || mime == "image/png", ErrorCode::unsupported, "picture '", name,
          "' is ", mime, "; reports show image/svg+xml and image/png");
  pictures_.push_back(
      {std::string(name), std::string(caption), std::string(mime), std::string(bytes)});
}

void EvaluationRun::say(Severity severity, std::string_view message) {
  source_.say(severity, evaluator_ + ": " + std::string(message));
}

}  // namespace gh::host
