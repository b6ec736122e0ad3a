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

SplitStore::SplitStore(const Dataset& dataset, uint64_t seed, const SampleTable& train)
    : dataset_(dataset), seed_(seed), train_(train) {}

const SampleTable& SplitStore::get(const std::string& name) {
  if (name == "train") return train_;
  const auto found = others_.find(name);
  if (found != others_.end()) return found->second;
  const std::string split = name == "train:full" ? "train" : name;
  return others_.emplace(name, read_split(dataset_, split, seed_, std::nullopt)).first->second;
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

at::Tensor EvaluationRun::input(const SampleTable& table, const at::Tensor& indices,
                                std::string_view views, int64_t epoch) const {
  require(views == "plain" || views == "train", ErrorCode::invalid_param, "evaluator '", evaluator_,
          "' asks for views '", views, "'; there are \"plain\" and \"train\"");
  const ViewPlan plan = views == "train" ? source_.views : ViewPlan{.count = 1, .noise = 0};
  return ViewMaker(table, plan, stream_key(facts().seed, "eval." + evaluator_))
      .make(indices, epoch, 0);
}

const Features& EvaluationRun::features(const FeatureRequest& request) {
  const auto key = std::tuple(static_cast<int>(request.level), std::string(request.split),
                              std::string(request.views));
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second;

  at::NoGradGuard no_grad;
  const SampleTable& table = source_.splits.get(std::string(request.split));
  const EvaluationMode evaluation(source_.method);
  const auto encoder = source_.method.encoder();
  std::vector<at::Tensor> rows;
  for (int64_t begin = 0; begin < table.size(); begin += kFeatureBatch) {
    const at::Tensor indices =
        at::arange(begin, std::min(table.size(), begin + kFeatureBatch), at::kLong);
    at::Tensor x = input(table, indices, request.views, 0).to(facts().device, facts().dtype);
    if (request.level == FeatureLevel::backbone) x = encoder->forward(x);
    if (request.level == FeatureLevel::embedding) x = source_.method.embed(x);
    rows.push_back(x.to(at::kCPU, at::kFloat));
  }
  Features out{.x = at::cat(rows), .targets = table.targets, .class_names = table.class_names};
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
  const SampleTable& table = source_.splits.get(std::string(request.split));
  const at::Tensor order = epoch < 0
                               ? at::arange(table.size(), at::kLong)
                               : Random(stream_key(facts().seed, "eval." + evaluator_ + ".order"),
                                        static_cast<uint64_t>(epoch))
                                     .permutation(table.size());
  for (int64_t begin = 0; begin < table.size(); begin += batch) {
    const at::Tensor indices = order.slice(0, begin, std::min(table.size(), begin + batch));
    const at::Tensor x = input(table, indices, request.views, std::max<int64_t>(epoch, 0));
    const at::Tensor y =
        table.targets.defined() ? table.targets.index_select(0, indices) : at::Tensor();
    if (!use(x.to(facts().device, facts().dtype), y)) return;
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
