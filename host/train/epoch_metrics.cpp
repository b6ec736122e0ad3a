#include "train/epoch_metrics.hpp"

#include "run/run_directory.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

namespace gh::host {

double EpochMetrics::Sum::mean() const {
  const double late = deferred.defined() ? deferred.item<double>() : 0;
  return (total + late) / static_cast<double>(count);
}

EpochMetrics::Sum& EpochMetrics::entry(std::string_view name) {
  for (Sum& sum : entries_)
    if (sum.name == name) return sum;
  if (const std::string valid = valid_utf8(name); valid != name) return entry(valid);
  return entries_.emplace_back(
      Sum{.name = std::string(name), .total = 0, .deferred = {}, .count = 0});
}

void EpochMetrics::add(std::string_view name, double value) {
  Sum& sum = entry(name);
  sum.total += value;
  ++sum.count;
}

void EpochMetrics::add(std::string_view name, const at::Tensor& scalar) {
  Sum& sum = entry(name);
  const at::Tensor value = scalar.detach().to(at::kDouble);
  sum.deferred = sum.deferred.defined() ? sum.deferred + value : value;
  ++sum.count;
}

double EpochMetrics::mean(std::string_view name) const {
  for (const Sum& sum : entries_)
    if (sum.name == name) return sum.mean();
  return std::numeric_limits<double>::quiet_NaN();
}

void EpochMetrics::reduce(Ranks& ranks) {
  if (ranks.world() == 1 || entries_.empty()) return;
  const auto size = static_cast<int64_t>(entries_.size());
  at::Tensor sums = at::zeros({size, 2}, at::kDouble);
  for (int64_t i = 0; i < size; ++i) {
    const Sum& sum = entries_[static_cast<std::size_t>(i)];
    sums[i][0] = sum.mean() * static_cast<double>(sum.count);
    sums[i][1] = static_cast<double>(sum.count);
  }
  ranks.sum_in_place(sums);
  for (int64_t i = 0; i < size; ++i) {
    Sum& sum = entries_[static_cast<std::size_t>(i)];
    sum.total = sums[i][0].item<double>();
    sum.count = static_cast<int64_t>(sums[i][1].item<double>());
    sum.deferred.reset();
  }
}

void EpochMetrics::visit_state(State& state, Ranks& ranks) {
  nlohmann::json names = nlohmann::json::array();
  for (const Sum& sum : entries_) names.push_back(sum.name);
  std::string text = json_text(names);
  state.text("names", text);
  at::Tensor sums;  // [ranks, names, 3]: total, deferred, count
  if (!state.loading()) sums = ranks.all_gather(own_sums());
  state.tensor("sums", sums);
  if (!state.loading()) return;
  entries_.clear();
  for (const auto& name : parse_json(text)) entry(name.get<std::string>());
  const at::Tensor mine = sums[std::min(ranks.rank(), sums.size(0) - 1)];
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const at::Tensor row = mine[static_cast<int64_t>(i)];
    entries_[i].total = row[0].item<double>();
    entries_[i].deferred = row[1].clone();
    entries_[i].count = static_cast<int64_t>(row[2].item<double>());
  }
}

at::Tensor EpochMetrics::own_sums() const {
  at::Tensor out = at::zeros({1, static_cast<int64_t>(entries_.size()), 3}, at::kDouble);
  auto row = out.accessor<double, 3>();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Sum& sum = entries_[i];
    const auto at = static_cast<int64_t>(i);
    row[0][at][0] = sum.total;
    row[0][at][1] = sum.deferred.defined() ? sum.deferred.item<double>() : 0;
    row[0][at][2] = static_cast<double>(sum.count);
  }
  return out;
}

void EpochMetrics::write(nlohmann::ordered_json& out) const {
  for (const Sum& sum : entries_) out[sum.name] = json_number(sum.mean());
}

}  // namespace gh::host
