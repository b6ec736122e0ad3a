// The division of the training set: which group each sample belongs to, and from which samples the
// expert of a group learns.
#pragma once

#include "gh/host.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>

namespace dnc {

class Groups {
 public:
  explicit Groups(int64_t count) : count_(count) {}
  int64_t count() const { return count_; }

  // Spherical K-means of representations [samples, D], the same on all ranks. A collective.
  void make(gh::Host& host, const at::Tensor& representations);

  // Groups of these samples: [B] int64 on the CPU. After make().
  at::Tensor of(const at::Tensor& indices) const;
  // Positions in the training set, [n] int64: the group's samples and, where they are too few to be
  // shared out in batches, its guests, the nearest samples of other groups. After make().
  at::Tensor samples(int64_t group) const;
  int64_t guests(int64_t group) const;  // how many of these

  void visit_state(gh::State& state);

 private:
  int64_t count_;
  at::Tensor labels_;  // [samples] int64
  at::Tensor guests_;  // [2, guests] int64: group and position of each; undefined: none
};

// Of at least as many samples can batches be made, in which no rank is left with a single one: as
// batch normalisation needs it, and NT-Xent, which compares samples. `samples`: of the group.
int64_t enough_for_batches(const gh::RunFacts& facts, int64_t samples);

}  // namespace dnc
