// Which point each training sample leans to, remembered over epochs, and the share of samples per
// point that follows from it: the prior π of the allocation.
#pragma once

#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>

namespace gh::host {

// How the table and the prior move, in epochs counted from 0.
struct TrackerPlan {
  int64_t warm_up = 0;
  double momentum = 0.999;        // β after the warm-up
  double warm_up_momentum = 0.9;  // β during it
  int64_t refresh = 20;  // the prior follows the table in epochs whose number from 1 is a multiple,
                         // or ends the warm-up
};

class PriorTracker {
 public:
  PriorTracker(int64_t samples, int64_t points, TrackerPlan plan);

  // Row i of `logits` [n, K] belongs to sample indices[i]. A sample's first visit assigns its row,
  // later ones average: row ← β·row + (1−β)·logits. In a refresh epoch the prior is counted anew
  // after every call.
  void update(const at::Tensor& logits, const at::Tensor& indices, int64_t epoch);

  // [K] float64: share of samples whose largest entry is at each point; uniform until first
  // counted.
  const at::Tensor& prior() const { return prior_; }
  const at::Tensor& table() const { return table_; }  // [N, K] float32
  // [N] int64, each sample's point; −1 for samples never seen.
  at::Tensor labels() const;

  void visit_state(State& state);

 private:
  bool refreshes(int64_t epoch) const;
  TrackerPlan plan_;
  at::Tensor table_;
  at::Tensor seen_;  // [N] bool
  at::Tensor prior_;
};

}  // namespace gh::host
