// The mean over ranks of gradients, sent while the rest of the backward pass still computes.
//
//   reducer.begin_step();
//   … backward, any number of times …
//   reducer.finish(votes);          // .grad is now the mean over ranks
//
// Gradients travel in buckets, in the reverse order of the parameters. A step may accumulate into a
// parameter several times: the first step shows how often, and from then on a bucket leaves when
// each of its members has had that many. If more comes after all, it is sent again by finish().
#pragma once

#include "ranks/ranks.hpp"

#include "gh/tensor.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gh::host {

// Ranks run the same program, so they send the same buckets in the same order. Training thread; the
// parameters keep shape, dtype and device, and have one reducer at a time. `ranks` outlives it.
class GradientReducer {
 public:
  GradientReducer(Ranks& ranks, std::vector<at::Tensor> parameters,
                  int64_t bucket_bytes = 25 << 20);
  ~GradientReducer();

  // Forgets what was accumulated and sent since the last finish().
  void begin_step();

  // Averages .grad over ranks; a parameter without gradient stays without. The new .grad is a view
  // of memory that the next finish() writes again. `votes` are summed over ranks in float64, and
  // ride in the last bucket. gh::Error (io) when the others are lost.
  void finish(std::span<double> votes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null with one rank
};

}  // namespace gh::host
