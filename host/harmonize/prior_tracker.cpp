#include "harmonize/prior_tracker.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace gh::host {

PriorTracker::PriorTracker(int64_t samples, int64_t points, TrackerPlan plan)
    : plan_(plan),
      table_(at::zeros({samples, points})),
      seen_(at::zeros({samples}, at::kBool)),
      prior_(at::full({points}, 1.0 / static_cast<double>(points), at::kDouble)),
      labels_(static_cast<std::size_t>(samples), -1),
      counts_(static_cast<std::size_t>(points), 0) {}

bool PriorTracker::refreshes(int64_t epoch) const {
  const int64_t number = epoch + 1;
  return number >= plan_.warm_up && (number % plan_.refresh == 0 || number == plan_.warm_up);
}

void PriorTracker::update(const at::Tensor& logits, const at::Tensor& indices, int64_t epoch) {
  if (epoch < plan_.first_epoch) return;
  const double beta = epoch < plan_.warm_up ? plan_.warm_up_momentum : plan_.momentum;
  const auto old_part = static_cast<float>(beta), new_part = static_cast<float>(1 - beta);
  const at::Tensor now = logits.detach().to(at::kCPU, at::kFloat).contiguous();
  const at::Tensor places = indices.to(at::kCPU).contiguous();
  const int64_t points = prior_.size(0), samples = table_.size(0);
  require(now.dim() == 2 && now.size(1) == points && places.size(0) == now.size(0),
          ErrorCode::shape, "logits [n, ", points, "] and n indices are tracked, got ", now.sizes(),
          " and ", places.sizes());
  const float* from = now.data_ptr<float>();
  const int64_t* place = places.data_ptr<int64_t>();
  bool* seen = seen_.data_ptr<bool>();
  float* const table = table_.data_ptr<float>();
  for (int64_t i = 0; i < now.size(0); ++i, from += points) {
    const int64_t sample = place[i];
    require(sample >= 0 && sample < samples, ErrorCode::shape, "sample ", sample, " of ", samples);
    float* const row = table + sample * points;
    if (seen[sample]) {
      for (int64_t k = 0; k < points; ++k) row[k] = old_part * row[k] + new_part * from[k];
    } else {
      std::copy_n(from, points, row);
      seen[sample] = true;
    }
    int64_t& label = labels_[static_cast<std::size_t>(sample)];
    if (label >= 0) --counts_[static_cast<std::size_t>(label)];
    label = std::max_element(row, row + points) - row;
    ++counts_[static_cast<std::size_t>(label)];
  }
  if (plan_.refresh_at == TrackerPlan::Refresh::each_batch && refreshes(epoch)) count();
}

void PriorTracker::end_epoch(int64_t epoch) {
  if (plan_.refresh_at == TrackerPlan::Refresh::epoch_before && refreshes(epoch + 1)) count();
}

void PriorTracker::count() {
  int64_t total = 0;
  for (const int64_t n : counts_) total += n;
  const double points = static_cast<double>(counts_.size());
  const double all = static_cast<double>(total) + plan_.floor * points;
  if (all <= 0) return;
  double* const prior = prior_.data_ptr<double>();
  for (std::size_t k = 0; k < counts_.size(); ++k)
    prior[k] = (static_cast<double>(counts_[k]) + plan_.floor) / all;
}

at::Tensor PriorTracker::labels() const { return at::tensor(labels_, at::kLong); }

at::Tensor PriorTracker::counts() const { return at::tensor(counts_, at::kLong); }

void PriorTracker::forget() {
  table_.zero_();
  seen_.zero_();
  relabel();
}

void PriorTracker::restrict_to(const at::Tensor& samples) {
  left_out_.assign(samples.defined() ? labels_.size() : 0, true);
  if (samples.defined()) {
    const at::Tensor positions = samples.contiguous();
    const int64_t* const sample = positions.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < positions.size(0); ++i)
      left_out_.at(static_cast<std::size_t>(sample[i])) = false;
  }
  relabel();
}

void PriorTracker::relabel() {
  std::fill(counts_.begin(), counts_.end(), 0);
  const int64_t points = prior_.size(0);
  const float* row = table_.data_ptr<float>();
  const bool* seen = seen_.data_ptr<bool>();
  for (std::size_t i = 0; i < labels_.size(); ++i, row += points) {
    const bool counts = seen[i] && (left_out_.empty() || !left_out_[i]);
    labels_[i] = counts ? std::max_element(row, row + points) - row : -1;
    if (labels_[i] >= 0) ++counts_[static_cast<std::size_t>(labels_[i])];
  }
}

void PriorTracker::visit_state(State& state) {
  state.tensor("table", table_);
  state.tensor("seen", seen_);
  state.tensor("prior", prior_);
  if (state.loading()) relabel();
}

}  // namespace gh::host
