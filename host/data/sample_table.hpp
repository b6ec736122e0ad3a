// A split in memory, and the views drawn from it. Views are a pure function of seed, epoch, sample
// and view number, so batches are the same in whatever order they are made.
#pragma once

#include "data/long_tail.hpp"

#include "gh/dataset.hpp"
#include "gh/random.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gh::host {

struct SampleTable {
  std::string split;
  at::Tensor samples;  // [N, …] float32
  at::Tensor targets;  // as gh::Split::targets(), thinned like the samples; may be undefined
  at::Tensor chosen;   // [N] int64, positions in the split; undefined: all, in order
  TargetKind target_kind = TargetKind::none;
  std::vector<std::string> class_names;
  std::string fingerprint;

  int64_t size() const { return samples.size(0); }
  std::vector<int64_t> sample_shape() const;
  at::Tensor class_counts() const;  // [C] int64; undefined without class targets
};

// Reads a whole split. Throws gh::Error naming split and sample.
SampleTable read_split(const Dataset& dataset, std::string_view split, uint64_t seed,
                       const std::optional<LongTail>& long_tail);

// How samples become views.
struct ViewPlan {
  int64_t count = 2;
  double noise = 0;  // standard deviation of Gaussian noise on vectors
};

// One pass over a table: the order of samples in an epoch and the views of each.
class ViewMaker {
 public:
  ViewMaker(const SampleTable& table, ViewPlan plan, uint64_t seed);
  // Positions in the table, shuffled by epoch. `subset` ([n] int64, or undefined for all) is what
  // is shuffled.
  at::Tensor order(int64_t epoch, const at::Tensor& subset) const;
  // View `view` of the given samples in the given epoch: [n, …].
  at::Tensor make(const at::Tensor& indices, int64_t epoch, int64_t view) const;
  const ViewPlan& plan() const { return plan_; }

 private:
  const SampleTable& table_;
  ViewPlan plan_;
  uint64_t seed_;
};

}  // namespace gh::host
