// The processes of a run, and what they tell each other. Training thread; every rank makes the same
// calls in the same order, with tensors of the same shape and dtype. With one process nothing is
// opened and every function returns its input.
//
// When another process dies, or stays away for longer than the timeout, the call under way and all
// later ones are gh::Error (io).
#pragma once

#include "ranks/launch.hpp"

#include "gh/random.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

class ProcessGroup;

struct RanksPlan {
  double timeout_seconds = 600;  // for one collective, and for all ranks to come
  at::Device device = at::kCPU;  // where the run's tensors are; those on the CPU may come too
};

class Ranks {
 public:
  // Waits for the other processes. World 1 is alone().
  static std::unique_ptr<Ranks> join(const Launch& launch, const RanksPlan& plan);
  static std::unique_ptr<Ranks> alone();
  ~Ranks();

  int64_t rank() const;
  int64_t world() const;
  bool first() const { return rank() == 0; }

  // Gradients of both are summed over ranks. Their graphs must not outlive this.
  at::Tensor all_gather(const at::Tensor& rows);  // [B,…] → [world·B,…], rank order, any dtype
  at::Tensor all_reduce_sum(const at::Tensor& value);

  // Row i of all ranks' rows becomes row permutation[i] of `random` (the same on every rank), and
  // back with an equal `random`. Without gradient.
  at::Tensor shuffle_rows(const at::Tensor& rows, Random random);
  at::Tensor unshuffle_rows(const at::Tensor& rows, Random random);

  // From rank 0, in place; any device, dtype and layout.
  void broadcast(std::span<at::Tensor> tensors);
  std::string broadcast_text(std::string_view from_rank_0);
  // What each rank says, in their order; texts may be of different length.
  std::vector<std::string> gather_text(std::string_view own);

  void sum_in_place(at::Tensor& value);  // no gradient
  // The same without waiting: the returned function does that. Call it once; until then leave
  // `value` alone. Contiguous tensors only.
  std::function<void()> start_sum(const at::Tensor& value);

  void barrier();
  // The last call of a process that ends well: returns when all have made it.
  void leave() noexcept;

 private:
  explicit Ranks(std::unique_ptr<ProcessGroup> group);
  at::Tensor move_rows(const at::Tensor& rows, const at::Tensor& sources);

  std::unique_ptr<ProcessGroup> group_;  // null: alone
};

}  // namespace gh::host
