#include "train/epoch_metrics.hpp"

#include <cmath>
#include <limits>

namespace gh::host {

double EpochMetrics::Sum::mean() const {
  const double late = deferred.defined() ? deferred.item<double>() : 0;
  return (total + late) / static_cast<double>(count);
}

EpochMetrics::Sum& EpochMetrics::entry(std::string_view name) {
  for (Sum& sum : entries_)
    if (sum.name == name) return sum;
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

void EpochMetrics::write(nlohmann::ordered_json& out) const {
  for (const Sum& sum : entries_) out[sum.name] = json_number(sum.mean());
}

nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace gh::host
