// A function of every sample of a set, for evaluators and for methods. Batches are shared out among
// ranks and put together again in one order; each is made whole by one rank, since a sum over other
// batches could round otherwise. So numbers do not depend on how many ranks there are.
#pragma once

#include "data/loader.hpp"

#include "gh/tensor.hpp"

#include <functional>

namespace gh::host {

// Rows of a function of samples, and of which samples: another may stand in for one that cannot be
// read. Both on the CPU.
struct SetRows {
  at::Tensor x;        // [n, …]; undefined without a sample
  at::Tensor samples;  // [n] int64, positions in the set
};

struct SetPass {
  const SampleSet& set;
  const ViewPlan& views;  // of which the first is made
  uint64_t seed = 0;      // of the views
  LoaderOptions loader;
  EpochPlan plan;  // of the whole pass, in `batch`es
};

// Calls `use` for each batch of a pass until it returns false. Samples that others stood in for are
// told to `skipped`, where there is one.
void each_batch_of(const SetPass& pass,
                   const std::function<bool(const at::Tensor& x, const at::Tensor& samples)>& use,
                   const std::function<void(const std::string& reason)>& skipped);

// Rows of the batches that fall to `rank` of `world`, without gradient. `embed` gives [B, …] for
// [B, …]; it calls no collective, since ranks have different numbers of batches. Throws gh::Error
// (interrupted) between two batches, and (invalid_param) for a pass over no sample.
SetRows rows_of_rank(SetPass pass, int64_t rank, int64_t world,
                     const std::function<at::Tensor(const at::Tensor& x)>& embed,
                     const std::function<void(const std::string& reason)>& skipped);

// The rows of all ranks, one after the other. A collective: `all_gather` is that of the ranks, on
// `device`; `order` and `batch` are those of the pass.
SetRows rows_of_all(const SetRows& own, const EpochPlan& plan, int64_t world, at::Device device,
                    const std::function<at::Tensor(const at::Tensor&)>& all_gather);

}  // namespace gh::host
