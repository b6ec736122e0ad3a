// The connections between the processes of a run: what Ranks is made of. Only process_group.cpp
// sees c10d and Gloo, whose headers are slow to compile.
#pragma once

#include "ranks/launch.hpp"
#include "ranks/ranks.hpp"

#include "gh/tensor.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace gh::host {

// Every process calls the same functions in the same order with tensors of the same shape. Tensors
// are contiguous, on the CPU or on the plan's device. One thread at a time. A failure is a
// gh::Error (io), closes the connections, so that the others notice too, and is repeated by every
// later call.
class ProcessGroup {
 public:
  // Returns when all have come, or fails after the timeout.
  ProcessGroup(const Launch& launch, const RanksPlan& plan);
  // Waits two seconds at most for what is still under way.
  ~ProcessGroup();

  int64_t rank() const { return launch_.rank; }
  int64_t world() const { return launch_.world; }

  // Starts to sum `value` over the processes, in place. The returned function waits for the result;
  // it is called once, and `value` is left alone until then.
  std::function<void()> start_sum(const at::Tensor& value);
  // [n] uint8 → [world·n] in the order of ranks.
  at::Tensor gather(const at::Tensor& bytes);
  // [n] uint8, from rank 0, in place.
  void broadcast(const at::Tensor& bytes);
  // [rows, n] uint8. The first send[0] rows go to rank 0, the next send[1] to rank 1, …; what comes
  // is in the order of ranks likewise, receive[r] rows from rank r.
  at::Tensor exchange(const at::Tensor& rows, std::vector<int64_t> send,
                      std::vector<int64_t> receive);
  void barrier();
  // The last call: returns when every process has made it, so that none closes a connection on
  // which another still waits. Never fails.
  void leave() noexcept;

 private:
  struct Links;  // c10d's objects
  at::Tensor carrier(const at::Tensor& value) const;
  void close() noexcept;
  template <class Action>
  void guarded(const Action& action);

  Launch launch_;
  RanksPlan plan_;
  std::shared_ptr<Links> links_;
  std::string lost_;  // why, once a call has failed
};

}  // namespace gh::host
