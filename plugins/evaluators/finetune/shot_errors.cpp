#include "shot_errors.hpp"

#include "gh/error.hpp"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

namespace tuning {
namespace {

std::span<const double> values(const at::Tensor& t) {
  gh::require(t.dim() == 1 && t.scalar_type() == at::kDouble && t.is_contiguous(),
              gh::ErrorCode::shape, "expected targets and predictions as [n] float64");
  return {t.data_ptr<double>(), static_cast<std::size_t>(t.numel())};
}

class Means {
 public:
  void add(double error) {
    ++samples_;
    sum_ += error;
    logs_ += std::log(std::max(error, kLeastError));
  }
  ErrorMeans means() const {
    const double n = static_cast<double>(samples_);
    if (samples_ == 0)
      return {0, std::numeric_limits<double>::quiet_NaN(),
              std::numeric_limits<double>::quiet_NaN()};
    return {samples_, sum_ / n, std::exp(logs_ / n)};
  }

 private:
  int64_t samples_ = 0;
  double sum_ = 0, logs_ = 0;
};

struct Bin {
  int64_t trained = 0;
  std::vector<double> errors;
};

}  // namespace

ShotErrors shot_errors(std::string_view rule, double bin, const at::Tensor& trained,
                       const at::Tensor& tested, const at::Tensor& predicted) {
  const auto truth = values(tested), said = values(predicted);
  gh::require(!truth.empty() && truth.size() == said.size(), gh::ErrorCode::shape,
              "expected a prediction for each of ", truth.size(), " samples, got ", said.size());
  const auto key = [&](double target) { return std::round(target / bin); };
  std::map<double, Bin> bins;
  for (const double target : values(trained)) ++bins[key(target)].trained;
  for (std::size_t i = 0; i < truth.size(); ++i)
    bins[key(truth[i])].errors.push_back(std::abs(truth[i] - said[i]));

  ShotErrors out;
  Means all;
  std::vector<int64_t> counts;
  std::vector<const Bin*> in_order;
  for (const auto& [number, b] : bins) {
    Means own;
    for (const double error : b.errors) {
      own.add(error);
      all.add(error);
    }
    counts.push_back(b.trained);
    in_order.push_back(&b);
    out.bins.push_back({number * bin, b.trained, own.means().samples, own.means().mean});
  }
  out.all = all.means();

  const gh::ClassGroups groups = gh::class_groups(rule, at::tensor(counts, at::kLong));
  for (const gh::ClassGroup& group : groups.groups) {
    Means means;
    for (const int64_t c : group.classes)
      for (const double error : in_order[static_cast<std::size_t>(c)]->errors) means.add(error);
    out.names.push_back(group.name);
    out.groups.push_back(means.means());
  }
  out.definition = "target values, rounded, as classes: " + groups.definition;
  return out;
}

}  // namespace tuning
