// Geometric Harmonization around any method: pulls the two embeddings of each sample towards the
// point that the allocator gives the other one. As the published code computes it,
//
//   t_v = unit rows of z_v Mᵀ,   Q_v = allocate(t_v, π),
//   L_GH = −mean Σ_k Q_1 log softmax(t_2/τ) − mean Σ_k Q_2 log softmax(t_1/τ)
//
// and as the paper prints it: t_v are cosines, Q_v = allocate(log softmax(t_v/τ), π), one
// direction. During the warm-up it only watches; a run's warm-up is therefore the same bit for bit
// with and without it.
#pragma once

#include "harmonize/prior_tracker.hpp"
#include "harmonize/surrogate_statistics.hpp"

#include "gh/allocator.hpp"
#include "gh/ssl.hpp"
#include "gh/state.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gh::host {

struct HarmonizePlan {
  enum class Logits { unit, cosine };           // rows of z Mᵀ scaled to length 1, or cosines
  enum class Allocate { logits, log_softmax };  // what the allocator is shown
  enum class Track { logits, softmax };         // what the table averages
  enum class Directions { both, one };          // one: targets of the second view for the first one
  enum class Targets { bi_level, joint };       // joint: gradients flow through the allocation, too
  enum class Apply { loss, projector };  // projector: the method's own loss compares the logits
  enum class Prior { tracked, uniform, given };

  TrackerPlan tracker{};
  int64_t ramp = 10;         // epochs over which the weight grows
  double weight = 1;         // w in the end
  double temperature = 0.1;  // τ
  Logits logits = Logits::unit;
  Allocate allocate = Allocate::logits;
  Track track = Track::logits;
  Directions directions = Directions::both;
  Targets targets = Targets::bi_level;
  Apply apply = Apply::loss;
  Prior prior = Prior::tracked;
  at::Tensor given_prior{};                  // [K] float64, sums to 1; with Prior::given
  bool learnable = false;                    // the points are trained
  std::string allocator_name = "allocator";  // in errors
};

class Harmonizer {
 public:
  using Log = std::function<void(std::string_view name, double value)>;
  using Gather = std::function<at::Tensor(const at::Tensor& rows)>;

  // Classes of the training samples [samples] int64, undefined where there are none.
  struct Labels {
    at::Tensor for_allocator;   // only for one that may see them
    at::Tensor for_statistics;  // never reach training
  };

  // `points` [K, width] with unit rows; `options` say on which device and in which precision they
  // are used.
  Harmonizer(HarmonizePlan plan, const at::Tensor& points, Allocator& allocator, Labels labels,
             int64_t samples, at::TensorOptions options, Log log);

  // With several ranks: targets are those of the global batch, and the tracker sees all of it.
  // `gather` puts the rows of all ranks together, in rank order.
  void share(int64_t rank, Gather gather);

  // A stage of these samples [n] int64 begins, or one of all: the prior counts no others.
  void begin_stage(const at::Tensor& samples) { tracker_.restrict_to(samples); }

  // True when the allocator wants a fit over the whole set before this epoch, and whether it has to
  // be shown the embeddings.
  bool wants_fit(int64_t epoch) const;
  bool fits_table() const;
  // `embeddings` [n, width] of the samples at positions `samples` [n], or undefined; may replace
  // the points.
  void fit(const at::Tensor& embeddings, const at::Tensor& samples, Random random);

  // w·L_GH of the batch, or an exact zero during the warm-up and where GH is a projector only.
  // `indices` are positions in the training set. Not finite when the embeddings are not; then
  // nothing is remembered of them.
  // `random` is for the allocator, and the same on all ranks.
  at::Tensor term(const at::Tensor& z1, const at::Tensor& z2, const at::Tensor& indices, bool track,
                  int64_t epoch, const Random& random = Random(0));

  // What the method's own loss compares in this epoch: the embedding itself, or its logits.
  bool projects(int64_t epoch) const;
  at::Tensor project(const at::Tensor& z, int64_t epoch) const;

  // Counts the prior where it is due, and logs and returns what the table says.
  SurrogateStatistics end_epoch(int64_t epoch);
  SurrogateStatistics statistics() const;

  double weight(int64_t epoch) const;  // w after the ramp, epochs from 0
  at::Tensor prior() const;            // [K] float64, which the allocator is asked to meet
  const PriorTracker& tracker() const { return tracker_; }
  const at::Tensor& points() const { return points_; }
  const at::Tensor& share_history() const {
    return history_;
  }  // [epochs, K] int64: samples a point

  void trainable(Trainables& out) const;  // the points, where they are learnable
  void after_update();                    // which puts them back on the sphere
  void visit_state(State& state);

 private:
  struct View {
    at::Tensor logits;   // [B, K], with gradient
    at::Tensor targets;  // [B, K], of this rank's rows
  };
  at::Tensor logits(const at::Tensor& z) const;
  AssignRequest request_for(const at::Tensor& logits, const at::Tensor& indices,
                            const Random& random) const;
  at::Tensor own_rows(const at::Tensor& targets, const AssignRequest& request, int64_t rows) const;
  // Targets of both views, or of the second only; false when logits are not finite.
  bool allocate(View& first, View& second, const at::Tensor& indices, const Random& random);
  at::Tensor of_all_ranks(const at::Tensor& rows) const;
  void track(const at::Tensor& t, const at::Tensor& indices, int64_t epoch);

  HarmonizePlan plan_;
  at::Tensor points_;
  Allocator& allocator_;
  Labels labels_;
  PriorTracker tracker_;
  at::Tensor history_;
  Log log_;
  int64_t rank_ = 0;
  Gather gather_;  // empty with one rank
};

}  // namespace gh::host
