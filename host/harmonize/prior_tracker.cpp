#include "harmonize/prior_tracker.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace gh::host {

PriorTracker::PriorTracker(int64_t samples, int64_t points, TrackerPlan plan)
    : plan_(plan),
      table_(at::zeros({samples, points})),
      seen_(at::zeros({samples}, at::kBool)),
      prior_(at::full({points}, 1.0 / static_cast<double>(points), at::kDouble)) {}

bool PriorTracker::refreshes(int64_t epoch) const {
  const int64_t number = epoch + 1;
  return number >= plan_.warm_up && (number % plan_.refresh == 0 || number == plan_.warm_up);
}

void PriorTracker::update(const at::Tensor& logits, const at::Tensor& indices, int64_t epoch) {
  at::NoGradGuard no_grad;
  const double beta = epoch < plan_.warm_up ? plan_.warm_up_momentum : plan_.momentum;
  const at::Tensor now = logits.detach().to(at::kCPU, at::kFloat);
  const at::Tensor before = table_.index_select(0, indices);
  const at::Tensor known = seen_.index_select(0, indices).unsqueeze(1);
  table_.index_copy_(0, indices, at::where(known, before * beta + now * (1 - beta), now));
  seen_.index_fill_(0, indices, true);
  if (!refreshes(epoch)) return;
  const at::Tensor counts = at::bincount(table_.argmax(1).masked_select(seen_), {}, prior_.size(0));
  prior_.copy_(counts.to(at::kDouble) / counts.sum().to(at::kDouble));
}

at::Tensor PriorTracker::labels() const {
  return table_.argmax(1).masked_fill(seen_.logical_not(), -1);
}

void PriorTracker::visit_state(State& state) {
  state.tensor("table", table_);
  state.tensor("seen", seen_);
  state.tensor("prior", prior_);
}

}  // namespace gh::host
