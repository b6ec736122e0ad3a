// Geometric Harmonization around any method: pulls the two embeddings of each sample towards the
// point that the allocator gives the other one.
//
//   t_v = unit rows of z_v Mᵀ,   Q_v = allocate(t_v, π),
//   L_GH = −mean Σ_k Q_1 log softmax(t_2/τ) − mean Σ_k Q_2 log softmax(t_1/τ)
//
// During the warm-up it only watches; a run's warm-up is therefore the same bit for bit with and
// without it.
#pragma once

#include "harmonize/prior_tracker.hpp"

#include "gh/allocator.hpp"
#include "gh/ssl.hpp"
#include "gh/state.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gh::host {

struct HarmonizePlan {
  TrackerPlan tracker;
  int64_t ramp = 10;                         // epochs over which the weight grows
  double weight = 1;                         // w in the end
  double temperature = 0.1;                  // τ
  bool track_prior = true;                   // false: allocate to a uniform prior ("w/o π")
  bool learnable = false;                    // the points are trained
  std::string allocator_name = "allocator";  // in errors
};

class Harmonizer {
 public:
  using Log = std::function<void(std::string_view name, double value)>;
  using Gather = std::function<at::Tensor(const at::Tensor& rows)>;

  // `points` [K, width] with unit rows; `options` say on which device and in which precision they
  // are used. `labels` [samples] int64 are for an allocator that may see
  // them; undefined otherwise.
  Harmonizer(HarmonizePlan plan, const at::Tensor& points, Allocator& allocator, at::Tensor labels,
             int64_t samples, at::TensorOptions options, Log log);

  // With several ranks: targets are those of the global batch, and the tracker sees all of it.
  // `gather` puts the rows of all ranks together, in rank order.
  void share(int64_t rank, Gather gather);

  // True when the allocator wants a fit over the whole set before this epoch.
  bool wants_fit(int64_t epoch) const;
  // `embeddings` [n, width] of the samples at `indices`; may replace the points.
  void fit(const at::Tensor& embeddings, const at::Tensor& indices, Random random);

  // w·L_GH of the batch, or an exact zero during the warm-up. `indices` are positions in the
  // training set.
  at::Tensor term(const at::Tensor& z1, const at::Tensor& z2, const at::Tensor& indices, bool track,
                  int64_t epoch);

  double weight(int64_t epoch) const;  // w after the ramp, epochs from 0
  const PriorTracker& tracker() const { return tracker_; }
  const at::Tensor& points() const { return points_; }

  void trainable(Trainables& out) const;  // the points, where they are learnable
  void after_update();                    // which puts them back on the sphere
  void visit_state(State& state);

 private:
  at::Tensor logits(const at::Tensor& z) const;
  at::Tensor targets(const at::Tensor& t,
                     const at::Tensor& indices);  // [B, K], of this rank's rows
  at::Tensor everybodys(const at::Tensor& rows) const;
  void track(const at::Tensor& t, const at::Tensor& indices, int64_t epoch);

  HarmonizePlan plan_;
  at::Tensor points_;
  Allocator& allocator_;
  at::Tensor labels_;
  PriorTracker tracker_;
  Log log_;
  int64_t rank_ = 0;
  Gather gather_;  // empty with one rank
};

}  // namespace gh::host
