#include "plugins/fake_evaluation.hpp"

#include "plugins/conformance_checks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

// Long-tailed, as sets are; in the test, ten of each class.
const std::vector<int64_t> kTrain = {48, 32, 24, 16}, kTest = {10, 10, 10, 10};
const std::vector<int64_t> kSampleShape = {3, 8, 8};
constexpr int64_t kClasses = 4;

bool is_train(std::string_view split) { return split.starts_with("train"); }
const std::vector<int64_t>& counts_of(std::string_view split) {
  return is_train(split) ? kTrain : kTest;
}

at::Tensor classes_of(std::string_view split) {
  std::vector<int64_t> labels;
  for (int64_t c = 0; c < kClasses; ++c) labels.insert(labels.end(), counts_of(split)[c], c);
  const at::Tensor all = at::tensor(labels, at::kLong);
  return all.index_select(0, Random(stream_key(3, split)).permutation(all.size(0)));
}

at::Tensor targets_of(std::string_view split, TargetKind kind) {
  const at::Tensor classes = classes_of(split);
  if (kind == TargetKind::none) return {};
  if (kind == TargetKind::real) return classes.to(at::kDouble) + 0.5;
  if (kind == TargetKind::multi) return at::one_hot(classes, kClasses).to(at::kByte);
  return classes;
}

}  // namespace

FakeEvaluation::FakeEvaluation(const FakeSplits& splits) : splits_(splits) {
  for (const int64_t n : kTrain) facts_.samples += n;
  facts_.batch = 16;
  facts_.epochs = 4;
  facts_.steps_per_epoch = facts_.samples / facts_.batch;
  facts_.seed = 1;
  facts_.view_shapes = {kSampleShape, kSampleShape};
  facts_.harmonized = splits.harmonized;
  facts_.harmonize_points = splits.harmonized ? kPoints : 0;
  if (splits.targets == TargetKind::classes) facts_.class_counts = kTrain;
}

EvalFacts FakeEvaluation::facts_of(const FakeSplits& splits) {
  EvalFacts facts;
  facts.splits = {"train", "train:full"};
  if (splits.test) facts.splits.emplace_back("test");
  facts.class_targets = splits.targets == TargetKind::classes;
  facts.real_targets = splits.targets == TargetKind::real;
  facts.multi_targets = splits.targets == TargetKind::multi;
  facts.sample_shape = kSampleShape;
  facts.feature_width = kWidth;
  facts.embedding_width = splits.embedding;
  facts.harmonize_points = splits.harmonized ? kPoints : 0;
  const bool labelled = facts.class_targets || facts.multi_targets;
  for (const std::string& name : facts.splits) {
    int64_t samples = 0;
    for (const int64_t n : counts_of(name)) samples += n;
    facts.split_facts.push_back({name, samples, splits.targets, labelled ? kClasses : 0});
    facts.class_counts.push_back(facts.class_targets ? counts_of(name) : std::vector<int64_t>{});
  }
  return facts;
}

Random FakeEvaluation::random(std::string_view purpose) const {
  return Random(stream_key(facts_.seed, "eval." + std::string(purpose)));
}

Features FakeEvaluation::whole(std::string_view split, FeatureLevel level, int64_t draw) const {
  require(split == "train" || split == "train:full" || (split == "test" && splits_.test),
          ErrorCode::missing_data, "there is no split '", split, "'");
  const at::Tensor classes = classes_of(split);
  Features out;
  out.targets = targets_of(split, splits_.targets);
  if (splits_.targets == TargetKind::classes) out.class_names = {"ant", "bee", "cat", "dog"};
  if (level == FeatureLevel::none) return out;
  std::vector<int64_t> sizes = {classes.size(0)};
  if (level == FeatureLevel::input)
    sizes.insert(sizes.end(), kSampleShape.begin(), kSampleShape.end());
  else
    sizes.push_back(level == FeatureLevel::backbone ? kWidth : splits_.embedding);
  out.x = at::empty(sizes, at::kFloat);
  Random(stream_key(static_cast<uint64_t>(level), split), static_cast<uint64_t>(draw))
      .fill_normal(out.x, 0, 1);
  out.x.select(1, 0).add_(classes.view({-1, 1, 1})
                              .squeeze()
                              .to(at::kFloat)
                              .view(level == FeatureLevel::input ? std::vector<int64_t>{-1, 1, 1}
                                                                 : std::vector<int64_t>{-1}));
  return out;
}

at::Tensor FakeEvaluation::handed(const std::string& name, const at::Tensor& tensor) {
  if (tensor.defined()) handed_.push_back({name, tensor, tensor.clone()});
  return tensor;
}

const Features& FakeEvaluation::features(const FeatureRequest& request) {
  if (request.draw < 0) faults_.push_back(fmt::format("expected draw ≥ 0, found {}", request.draw));
  Features all = whole(request.split, request.level, request.draw);
  if (request.samples.defined()) {
    if (all.x.defined()) all.x = all.x.index_select(0, request.samples);
    if (all.targets.defined()) all.targets = all.targets.index_select(0, request.samples);
  }
  given_.push_back(std::move(all));
  handed("features", given_.back().x);
  handed("targets", given_.back().targets);
  return given_.back();
}

at::Tensor FakeEvaluation::class_counts() {
  if (splits_.targets != TargetKind::classes) return {};
  return handed("class_counts()", at::tensor(kTrain, at::kLong));
}

at::Tensor FakeEvaluation::points() {
  if (!splits_.harmonized) return {};
  at::Tensor p = at::empty({kPoints, splits_.embedding}, at::kFloat);
  Random(9).fill_normal(p, 0, 1);
  return handed("points()", p / p.norm(2, 1, true));
}

at::Tensor FakeEvaluation::prior() {
  if (!splits_.harmonized) return {};
  return handed("prior()", at::full({kPoints}, 1.0 / kPoints, at::kDouble));
}

std::shared_ptr<Encoder> FakeEvaluation::clone_encoder() {
  return testing::FakeHost(facts_).make_backbone("clone", nullptr);
}

std::shared_ptr<Encoder> FakeEvaluation::fresh_encoder(std::string_view purpose) {
  return testing::FakeHost(facts_).make_backbone(purpose, nullptr);
}

void FakeEvaluation::each_batch(
    const FeatureRequest& request, int64_t batch, int64_t epoch,
    const std::function<bool(const at::Tensor& x, const at::Tensor& targets)>& use) {
  require(request.level == FeatureLevel::input, ErrorCode::invalid_param,
          "each_batch() gives samples as the network sees them: level input");
  require(batch >= 1, ErrorCode::invalid_param, "a batch needs at least one sample, got ", batch);
  const Features all = whole(request.split, request.level, request.draw);
  at::Tensor order =
      request.samples.defined() ? request.samples : at::arange(all.x.size(0), at::kLong);
  if (epoch >= 0)
    order =
        order.index_select(0, Random(7, static_cast<uint64_t>(epoch)).permutation(order.size(0)));
  for (int64_t at = 0; at < order.size(0); at += batch) {
    const at::Tensor rows = order.narrow(0, at, std::min(batch, order.size(0) - at));
    if (!use(all.x.index_select(0, rows),
             all.targets.defined() ? all.targets.index_select(0, rows) : at::Tensor()))
      return;
  }
}

void FakeEvaluation::named(std::string_view what, std::string_view name) {
  if (const std::string fault = fault_of_name(name); !fault.empty())
    faults_.push_back(fmt::format("{} for a {}", fault, what));
  if (++names_[fmt::format("{} {}", what, name)] == 2)
    faults_.push_back(fmt::format("expected each {} once, found \"{}\" twice", what, name));
}

void FakeEvaluation::metric(std::string_view name, double value, std::string_view definition) {
  named("metric", name);
  if (std::isinf(value))
    faults_.push_back(fmt::format("expected a number for the metric {}, found infinity", name));
  if (definition.empty())
    faults_.push_back(fmt::format("expected a definition of the metric {}, found none", name));
  reported_ += fmt::format("metric {} = {:a} ({})\n", name, value, definition);
}

void FakeEvaluation::table(std::string_view name, std::string_view caption,
                           std::span<const std::string> columns,
                           std::span<const std::vector<std::string>> rows) {
  named("table", name);
  reported_ += fmt::format("table {} ({})\n", name, caption);
  for (const auto& row : rows) {
    if (row.size() != columns.size())
      faults_.push_back(fmt::format("expected rows of {} cells in table {}, found one of {}",
                                    columns.size(), name, row.size()));
    for (const std::string& cell : row) reported_ += cell + '|';
    reported_ += '\n';
  }
}

void FakeEvaluation::picture(std::string_view name, std::string_view caption, std::string_view mime,
                             std::string_view bytes) {
  named("picture", name);
  const bool svg = mime == "image/svg+xml" && bytes.find("<svg") != std::string_view::npos;
  const bool png = mime == "image/png" && bytes.starts_with("\x89PNG");
  if (!svg && !png)
    faults_.push_back(
        fmt::format("expected a picture {} of image/svg+xml or image/png, found {} "
                    "bytes as \"{}\"",
                    name, bytes.size(), mime));
  reported_ += fmt::format("picture {} ({}) {}\n", name, caption, bytes);
}

void FakeEvaluation::say(Severity, std::string_view message) {
  reported_ += fmt::format("says {}\n", message);
}

void* FakeEvaluation::query(const char* id) {
  return std::string_view(id) == EvaluationServices::kId ? static_cast<EvaluationServices*>(this)
                                                         : nullptr;
}

std::string FakeEvaluation::png(std::string_view, int64_t, int) { return {}; }

at::Tensor FakeEvaluation::positions(std::string_view, std::string_view file) {
  fail(ErrorCode::io, file, " cannot be read");
}

void FakeEvaluation::finish() {
  for (const Handed& h : handed_)
    if (!identical(h.tensor, h.before)) {
      faults_.push_back(fmt::format("changed the {} it was given", h.name));
      break;
    }
}

}  // namespace gh::host
