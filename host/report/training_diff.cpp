#include "report/training_diff.hpp"

#include "report/format.hpp"
#include "run/checkpoint_store.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"
#include "gh/tensor.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListedMetrics = 8, kListedTensors = 8;

// "" where there is none.
std::string bytes_of(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown) ? read_regular_file(file.string()) : std::string();
}

// ---- metrics.jsonl ----

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::vector<MetricDifference> differences(const EpochRecord& a, const EpochRecord& b) {
  std::set<std::string> names;
  for (const EpochRecord* row : {&a, &b})
    for (const auto& [name, value] : row->scalars)
      if (!name.starts_with("time.")) names.insert(name);
  std::vector<MetricDifference> out;
  for (const std::string& name : names) {
    const auto in_a = a.scalars.find(name), in_b = b.scalars.find(name);
    MetricDifference row{name, {}, {}};
    if (in_a != a.scalars.end()) row.a = in_a->second;
    if (in_b != b.scalars.end()) row.b = in_b->second;
    if (!row.a || !row.b || !same_number(*row.a, *row.b)) out.push_back(std::move(row));
  }
  return out;
}

void compare_metrics(std::span<const RunRecord, 2> runs, TrainingDiff& out) {
  const auto &a = runs[0].epochs, &b = runs[1].epochs;
  out.epochs = {a.size(), b.size()};
  out.same_metrics = bytes_of(runs[0].directory / "metrics.jsonl") ==
                     bytes_of(runs[1].directory / "metrics.jsonl");
  if (out.same_metrics) return;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && out.metrics.empty(); ++i) {
    out.metrics = differences(a[i], b[i]);
    out.first = a[i];
  }
}

// ---- checkpoints ----

std::map<int64_t, fs::path> checkpoints(const RunRecord& run) {
  std::map<int64_t, fs::path> out;
  for (const fs::path& file : CheckpointStore(run.directory, {}).files()) {
    const std::string stem = file.stem().string();  // "step-000000070"
    out[std::atoll(stem.c_str() + stem.find_first_of("0123456789"))] = file;
  }
  return out;
}

TensorDifference compare(const std::string& name, const TensorFile& a, const TensorFile& b) {
  TensorDifference out{name, {}, ""};
  if (!a.has(name) || !b.has(name)) {
    out.problem = a.has(name) ? "only in A" : "only in B";
    return out;
  }
  const at::Tensor &x = a.at(name), &y = b.at(name);
  if (x.sizes() != y.sizes() || x.scalar_type() != y.scalar_type()) {
    std::ostringstream text;
    text << x.scalar_type() << ' ' << x.sizes() << " and " << y.scalar_type() << ' ' << y.sizes();
    out.problem = text.str();
    return out;
  }
  out.largest = 0;
  if (x.numel() == 0 || x.equal(y)) return out;
  const at::Tensor gap = (x.to(at::kDouble) - y.to(at::kDouble)).abs();
  const double largest = gap.max().item<double>();
  // Equal infinities and NaN at one place have no difference; elsewhere it is not finite.
  if (std::isfinite(largest)) {
    out.largest = largest;
    return out;
  }
  const at::Tensor wide = x.to(at::kDouble), other = y.to(at::kDouble);
  const at::Tensor same = wide.eq(other).logical_or(wide.isnan().logical_and(other.isnan()));
  out.largest = same.all().item<bool>() ? 0 : std::numeric_limits<double>::infinity();
  return out;
}

void compare_checkpoints(std::span<const RunRecord, 2> runs, TrainingDiff& out) {
  const auto a = checkpoints(runs[0]), b = checkpoints(runs[1]);
  for (const auto& [step, file] : a)
    if (b.contains(step)) out.step = step;
  if (!out.step) {
    const auto newest = [](const auto& files) {
      return files.empty() ? std::string("none") : fmt::format("step {}", files.rbegin()->first);
    };
    out.problem = fmt::format("no step in common: A has {}, B has {}", newest(a), newest(b));
    out.same_checkpoint = a.empty() && b.empty();
    if (out.same_checkpoint) out.problem = "neither run has one";
    return;
  }
  const fs::path &in_a = a.at(*out.step), &in_b = b.at(*out.step);
  out.same_checkpoint = bytes_of(in_a) == bytes_of(in_b) && a.rbegin()->first == *out.step &&
                        b.rbegin()->first == *out.step;
  try {
    const TensorFile x = read_checkpoint(in_a), y = read_checkpoint(in_b);
    std::set<std::string> names;
    for (const TensorFile* file : {&x, &y})
      for (const auto& [name, tensor] : file->tensors) names.insert(name);
    out.tensors = names.size();
    for (const std::string& name : names)
      if (TensorDifference row = compare(name, x, y); !row.largest || *row.largest != 0)
        out.differing.push_back(std::move(row));
  } catch (const Error& error) {
    out.problem = error.what();
    return;
  }
  const auto size = [](const TensorDifference& row) {
    return row.largest.value_or(std::numeric_limits<double>::infinity());
  };
  std::stable_sort(out.differing.begin(), out.differing.end(),
                   [&](const auto& p, const auto& q) { return size(p) > size(q); });
}

// ---- results ----

std::map<std::string, fs::path> result_files(const RunRecord& run) {
  std::map<std::string, fs::path> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run.directory / "results", none))
    if (const std::string name = entry.path().filename().string();
        std::isdigit(static_cast<unsigned char>(name[0])))
      out[name] = entry.path();
  return out;
}

bool same_results(std::span<const RunRecord, 2> runs) {
  const auto a = result_files(runs[0]), b = result_files(runs[1]);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& p, const auto& q) {
    return p.first == q.first && bytes_of(p.second) == bytes_of(q.second);
  });
}

std::string number(std::optional<double> value) {
  return value ? fmt::format("{:.9g}", *value) : "(absent)";
}

nlohmann::ordered_json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nullptr;
}

std::string metrics_text(const TrainingDiff& diff) {
  if (diff.same_metrics)
    return fmt::format("  metrics.jsonl: the same bytes, {} epochs\n", diff.epochs[0]);
  if (diff.metrics.empty())
    return fmt::format("  metrics.jsonl: equal as far as both go; A has {} epochs, B {}\n",
                       diff.epochs[0], diff.epochs[1]);
  std::string out = fmt::format("  metrics.jsonl: differs from epoch {} on (stage {}, step {})\n",
                                diff.first.epoch, one_line(diff.first.stage), diff.first.step);
  for (std::size_t i = 0; i < std::min(diff.metrics.size(), kListedMetrics); ++i)
    out += fmt::format("    {}  {}  {}\n", one_line(diff.metrics[i].name),
                       number(diff.metrics[i].a), number(diff.metrics[i].b));
  if (diff.metrics.size() > kListedMetrics)
    out += fmt::format("    … {} metrics differ in that epoch\n", diff.metrics.size());
  return out;
}

std::string checkpoint_text(const TrainingDiff& diff) {
  if (!diff.step) return fmt::format("  checkpoints: {}\n", diff.problem);
  std::string out = fmt::format("  checkpoint of step {}: ", *diff.step);
  if (!diff.problem.empty()) return out + one_line(diff.problem) + "\n";
  if (diff.same_checkpoint) return out + fmt::format("the same bytes, {} tensors\n", diff.tensors);
  if (diff.differing.empty()) return out + fmt::format("equal in all {} tensors\n", diff.tensors);
  out += fmt::format("differs in {} of {} tensors\n", diff.differing.size(), diff.tensors);
  for (std::size_t i = 0; i < std::min(diff.differing.size(), kListedTensors); ++i) {
    const TensorDifference& row = diff.differing[i];
    out += fmt::format("    {}  {}\n", one_line(row.name),
                       row.largest ? "by up to " + number(row.largest) : row.problem);
  }
  if (diff.differing.size() > kListedTensors)
    out += fmt::format("    … the largest {} of {}\n", kListedTensors, diff.differing.size());
  return out;
}

}  // namespace

TrainingDiff training_diff(std::span<const RunRecord, 2> runs) {
  TrainingDiff out;
  compare_metrics(runs, out);
  compare_checkpoints(runs, out);
  out.same_results = same_results(runs);
  return out;
}

std::string training_text(const TrainingDiff& diff) {
  return "Training\n" + metrics_text(diff) + checkpoint_text(diff) + "\n";
}

nlohmann::ordered_json training_json(const TrainingDiff& diff) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::array(),
                         tensors = nlohmann::ordered_json::array();
  for (const MetricDifference& row : diff.metrics)
    metrics.push_back(
        {{"name", row.name}, {"a", number_or_null(row.a)}, {"b", number_or_null(row.b)}});
  for (const TensorDifference& row : diff.differing)
    tensors.push_back({{"name", row.name},
                       {"largest_difference", number_or_null(row.largest)},
                       {"problem", row.problem}});
  nlohmann::ordered_json first = nullptr;
  if (!diff.metrics.empty())
    first = {{"stage", diff.first.stage},
             {"epoch", diff.first.epoch},
             {"step", diff.first.step},
             {"metrics", metrics}};
  return {
      {"identical", diff.identical()},
      {"metrics", {{"same_bytes", diff.same_metrics}, {"epochs", diff.epochs}, {"first", first}}},
      {"checkpoint",
       {{"step", diff.step ? nlohmann::ordered_json(*diff.step) : nullptr},
        {"same_bytes", diff.step && diff.same_checkpoint},
        {"tensors", diff.tensors},
        {"differing", tensors},
        {"problem", diff.problem}}},
      {"results", {{"same_bytes", diff.same_results}}}};
}

}  // namespace gh::host
