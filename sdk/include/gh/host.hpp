// What the host offers a component while it lives, and the facts of the run it is part of.
//
// Structs in this file go from host to plugin by reference only: later minors append members, an
// older plugin sees a prefix.
#pragma once

#include "gh/layers.hpp"
#include "gh/module.hpp"
#include "gh/random.hpp"
#include "gh/severity.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh {
inline namespace v1 {

// Known before anything is built, and constant for the run, but for what says otherwise.
struct RunFacts {
  // Training samples after thinning, all ranks.
  int64_t samples = 0;
  // Samples per optimiser step, all ranks.
  int64_t batch = 0;
  // Calls of step() per optimiser step; each sees batch / accumulate samples.
  int64_t accumulate = 1;
  // Optimiser steps of an epoch over the full training set.
  int64_t steps_per_epoch = 0;
  // Passes over the training set, train.epochs.
  int64_t epochs = 0;
  uint64_t seed = 0;
  int64_t rank = 0;
  int64_t world = 1;
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  // One per view, without the batch dimension.
  std::vector<std::vector<int64_t>> view_shapes;
  // The recipe has [harmonize].
  bool harmonized = false;
  // Names of publish_per_sample() that the recipe's views read.
  std::vector<std::string> per_sample;
  // Samples of each class of the thinned training set; empty unless the component may see labels.
  std::vector<int64_t> class_counts;

#if GH_SDK_MINOR >= 1
  // Since 1.1.
  // harmonize.mode: "reference" or "paper"; "" without [harmonize].
  std::string harmonize_mode;
  // harmonize.apply: "loss" or "projector"; "" without [harmonize].
  std::string harmonize_apply;
  // Points of the structure; 0 without [harmonize] and until build() is over.
  int64_t harmonize_points = 0;
  // train.drop_last: batches that are not full are left out.
  bool drop_last = false;
  // ranks.sync_norm: normalisation uses the statistics of all ranks.
  bool sync_norm = false;
  // train.convolution, for layers of the method's own.
  std::string convolution;
#endif
};

// Where training stands. Epochs and steps count from 0; `step` runs on over epochs within a stage.
struct Progress {
  std::string stage;
  int64_t stage_index = 0;
  // Of this stage: the number of the epoch, and how many there are.
  int64_t epoch = 0;
  int64_t epochs = 0;
  // Optimiser steps done in this stage; counts up when after_update() has returned.
  int64_t step = 0;
  // Optimiser steps this stage will have; 0 in begin_stage().
  int64_t steps = 0;
};

// Services, valid from build() until the component is destroyed. Training thread only.
class GH_API Host {
 public:
  virtual ~Host();
  virtual const RunFacts& facts() const = 0;
  virtual const Progress& progress() const = 0;

  // A stream keyed by seed, component, purpose, stage, step and call of step(), the same on all
  // ranks: asking twice in a call gives the same draws.
  virtual Random random(std::string_view purpose) const = 0;

  // A new encoder from the recipe's [backbone], on the run's device. `purpose` keys its initial
  // weights. A null factory means the host's own layers.
  virtual std::shared_ptr<Encoder> make_backbone(std::string_view purpose,
                                                 LayerFactory* layers) = 0;
  // The host's layers, for heads.
  virtual LayerFactory& layers() = 0;

  // A scalar for metrics.jsonl and the report; averaged over the steps of an epoch. The tensor form
  // waits for the device only when the value is written.
  virtual void log(std::string_view name, double value) = 0;
  virtual void log_tensor(std::string_view name, const at::Tensor& scalar) = 0;
  // A picture for the report, replacing the last one of that name.
  virtual void picture(std::string_view name, std::string_view caption, std::string_view mime,
                       std::string_view bytes) = 0;
  virtual void say(Severity severity, std::string_view message) = 0;

  // Collectives over ranks; with one rank each returns its input. Every rank calls them in the same
  // order. Gradients of a float tensor flow through both and are summed over ranks, as the mean
  // over ranks in Step needs it; integers are fine too.
  //
  // Gathering [B,…] gives [world·B,…] in rank order; B is the same everywhere.
  virtual at::Tensor all_gather(const at::Tensor& rows) = 0;
  virtual at::Tensor all_reduce_sum(const at::Tensor& value) = 0;
  // Rows exchanged between ranks by a permutation keyed by the step, and back (MoCo's shuffled BN).
  // No gradient.
  virtual at::Tensor shuffle_rows(const at::Tensor& rows) = 0;
  virtual at::Tensor unshuffle_rows(const at::Tensor& rows) = 0;

  // `embed` over the whole training set of this stage in batches, results as rows in the order of
  // stage_samples(), on the CPU, the same on all ranks. Without gradient, the method in evaluation
  // mode. `views` names how a sample becomes a tensor: "plain" (no augmentation) or "train" (the
  // first training view). In begin_… and end_…, not inside step(). Ranks share the batches, so
  // `embed` calls no collective.
  virtual at::Tensor embed_all(std::string_view views,
                               const std::function<at::Tensor(const at::Tensor&)>& embed) = 0;

  // A value in 0 … 1 per training sample, [samples], for the view pipeline of the coming epoch
  // ("strength": how likely and how strong boosted operations are). Before the first, all are 0.
  // Same on all ranks. The host keeps it in the checkpoint. A name that is not in
  // RunFacts::per_sample is an error (unsupported).
  virtual void publish_per_sample(std::string_view name, const at::Tensor& values) = 0;

  virtual void* query(const char* interface_id) = 0;
};

}  // namespace v1
}  // namespace gh
