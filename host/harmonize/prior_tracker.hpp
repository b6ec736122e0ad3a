// Which point each training sample leans to, remembered over epochs, and the share of samples per
// point that follows from it: the prior π of the allocation.
#pragma once

#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <vector>

namespace gh::host {

// How the table and the prior move, in epochs counted from 0.
struct TrackerPlan {
  int64_t warm_up = 0;
  int64_t first_epoch = 0;        // before it, nothing is remembered
  double momentum = 0.999;        // β after the warm-up
  double warm_up_momentum = 0.9;  // β during it
  // The prior follows the table in epochs whose number from 1 is a multiple of `refresh`, or is
  // that of the warm-up's last, and never before that.
  int64_t refresh = 20;
  // Small sets: after every batch of such an epoch. Large sets: once, at the end of the epoch
  // before.
  enum class Refresh { each_batch, epoch_before } refresh_at = Refresh::each_batch;
  double floor = 0;  // added to the count of each point
};

class PriorTracker {
 public:
  PriorTracker(int64_t samples, int64_t points, TrackerPlan plan);

  // Row i of `logits` [n, K] belongs to sample indices[i]. A sample's first visit assigns its row,
  // later ones average: row ← β·row + (1−β)·logits.
  void update(const at::Tensor& logits, const at::Tensor& indices, int64_t epoch);
  void end_epoch(int64_t epoch);

  // [K] float64: (n_k + floor) / (n + floor·K) over the n samples that were seen, n_k of them with
  // their largest entry at point k; uniform until first counted.
  const at::Tensor& prior() const { return prior_; }
  const at::Tensor& table() const { return table_; }  // [N, K] float32
  at::Tensor labels() const;  // [N] int64, each sample's point; −1 for ones unseen or left out
  at::Tensor counts() const;  // [K] int64, n_k as the table stands

  // Counts these samples [n] int64 only, or all again when undefined; others are remembered, but have
  // no label. For stages over a part of the training set: their prior is that of their samples.
  void restrict_to(const at::Tensor& samples);

  // The points have changed: every seen row becomes rows(row), and the prior is counted anew.
  template <class Function>
  void rewrite(const Function& rows) {
    table_.copy_(rows(table_));
    relabel();
    count();
  }
  void forget();  // nothing was seen

  void visit_state(State& state);

 private:
  bool refreshes(int64_t epoch) const;
  void relabel();
  void count();

  TrackerPlan plan_;
  at::Tensor table_;
  at::Tensor seen_;  // [N] bool
  at::Tensor prior_;
  std::vector<bool> left_out_;  // by restrict_to(); empty: none
  // Kept along, so that counting costs nothing. They follow from what is above.
  std::vector<int64_t> labels_, counts_;
};

}  // namespace gh::host
