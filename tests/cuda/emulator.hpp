// Runs CUDA kernels on the CPU: the tests include the .cu sources and compile them as C++, and
// <cuda_runtime.h> is this file. What it offers is what our kernels use; a name that is missing
// here is a compile error.
//
// Each thread of a block is a fiber that runs until it waits: at a barrier of its block, or at an
// operation of its warp (32 lanes, masks honoured). Threads that ended are not waited for. Blocks
// run one after the other; there is no barrier over a grid.
//
// What this shows that a GPU would hide:
// - Barriers that threads of a block reach at different places are errors which name both places.
// - Shared memory holds NaN when a block begins, so does what a shuffle reads from an absent lane.
//   Static arrays inside function templates are the exception: GCC keeps them elsewhere.
// - Threads run in the order that the test sets. Where a barrier is missing, some order reads a
//   value before it is written, and the results of two orders differ.
// What it cannot show: registers, occupancy, memory that is not coherent, speed.
#pragma once

#include "fiber.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <source_location>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// A section of their own, so that the arrays can be filled before each block.
#define __shared__ static __attribute__((section("gh_shared")))

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Of the thread that runs; the scheduler sets them.
inline dim3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

extern "C" {
[[gnu::weak]] extern unsigned char __start_gh_shared[];
[[gnu::weak]] extern unsigned char __stop_gh_shared[];
}

namespace gh::emulator {

using Place = std::source_location;

enum class Order { forward, reverse, shuffled };

// What a lane brings to an operation of its warp.
struct WarpCall {
  const char* name = "";
  unsigned mask = 0;
  int source = 0;  // lane to read from
  uint64_t value = 0;
};

struct Thread {
  enum class State { ready, at_block, at_warp, ended };

  explicit Thread(void (*entry)()) : fiber(entry) {}
  Fiber fiber;
  dim3 index;
  State state = State::ended;
  Place place;    // of the wait
  WarpCall call;  // at_warp
  uint64_t result = 0;
};

class Machine {
 public:
  Order order = Order::forward;
  unsigned seed = 1;                       // of Order::shuffled
  size_t shared_limit = 163 << 10;         // a block can ask for this much, as on sm_80
  std::map<const void*, size_t> opted_in;  // kernels that did ask

  void launch(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& body) {
    body_ = &body;
    gridDim = grid;
    blockDim = block;
    count_ = static_cast<int>(block.x * block.y * block.z);
    while (static_cast<int>(threads_.size()) < count_)
      threads_.push_back(std::make_unique<Thread>(&Machine::enter));
    // Exactly as large as asked for: the address sanitizer sees what lies beyond.
    shared_.reset(new std::byte[shared_bytes]);
    for (unsigned z = 0; z < grid.z; ++z)
      for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; ++x) {
          blockIdx = dim3(x, y, z);
          std::memset(shared_.get(), 0xff, shared_bytes);
          std::fill(__start_gh_shared, __stop_gh_shared, 0xff);
          run_block();
        }
  }

  void* shared() { return shared_.get(); }
  int lane() const { return current_ % warpSize; }

  void wait_for_block(Place place) {
    Thread& self = *threads_[current_];
    self.state = Thread::State::at_block;
    self.place = place;
    self.fiber.pause();
  }

  uint64_t wait_for_warp(const WarpCall& call, Place place) {
    Thread& self = *threads_[current_];
    if (!(call.mask >> lane() & 1))
      throw Error(describe(current_) + " is not in the mask of its own " + call.name + at(place));
    self.state = Thread::State::at_warp;
    self.place = place;
    self.call = call;
    self.fiber.pause();
    return self.result;
  }

 private:
  using State = Thread::State;

  static void enter();

  // A fiber outlives its block: it is the same thread of the next one.
  void run_thread_for_ever() {
    for (;;) {
      Thread& self = *threads_[current_];
      try {
        (*body_)();
      } catch (...) {
        error_ = std::current_exception();
      }
      self.state = State::ended;
      self.fiber.pause();
    }
  }

  void run_block() {
    for (int i = 0; i < count_; ++i) {
      threads_[i]->index =
          dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y));
      threads_[i]->state = State::ready;
    }
    const std::vector<int> warps = ordered((count_ + warpSize - 1) / warpSize);
    const std::vector<int> lanes = ordered(warpSize);
    for (;;) {
      for (const int warp : warps) run_warp(warp * warpSize, lanes);
      int first = -1;
      for (int i = 0; i < count_; ++i) {
        if (threads_[i]->state == State::ended) continue;
        if (first < 0) first = i;
        if (threads_[i]->state != State::at_block || !same_place(first, i)) stop(first, i);
      }
      if (first < 0) return;
      for (int i = 0; i < count_; ++i)
        if (threads_[i]->state == State::at_block) threads_[i]->state = State::ready;
    }
  }

  // Until each lane waits for the block, for a lane that does not come, or has ended.
  void run_warp(int begin, const std::vector<int>& lanes) {
    const int end = std::min(begin + warpSize, count_);
    for (bool moved = true; std::exchange(moved, false);) {
      for (const int lane : lanes) {
        if (begin + lane >= end || threads_[begin + lane]->state != State::ready) continue;
        current_ = begin + lane;
        threadIdx = threads_[current_]->index;
        threads_[current_]->fiber.resume();
        if (error_) throw_error(std::exchange(error_, nullptr));
        moved = true;
      }
      for (int i = begin; i < end; ++i)
        if (threads_[i]->state == State::at_warp) moved |= complete(begin, end, i);
    }
  }

  // Carries the operation out that thread `caller` waits at, if all lanes of its mask have come.
  bool complete(int begin, int end, int caller) {
    const WarpCall call = threads_[caller]->call;
    unsigned present = 0;
    uint64_t votes = 0;
    for (int i = begin; i < end; ++i) {
      const Thread& other = *threads_[i];
      if (!(call.mask >> (i - begin) & 1) || other.state == State::ended) continue;
      if (other.state != State::at_warp) return false;
      if (other.call.mask != call.mask || !same_place(caller, i)) stop(caller, i);
      present |= 1u << (i - begin);
      if (other.call.value) votes |= 1u << (i - begin);
    }
    const bool vote = std::strcmp(call.name, "__ballot_sync") == 0;
    for (int i = begin; i < end; ++i) {
      if (!(present >> (i - begin) & 1)) continue;
      Thread& lane = *threads_[i];
      const bool there = present >> lane.call.source & 1;
      lane.result = vote ? votes : there ? threads_[begin + lane.call.source]->call.value : kPoison;
      lane.state = State::ready;
    }
    return true;
  }

  static std::string at(Place place) {
    return std::string(" at ") + place.file_name() + ":" + std::to_string(place.line());
  }

  bool same_place(int a, int b) const {
    const Place &p = threads_[a]->place, &q = threads_[b]->place;
    return p.line() == q.line() && std::strcmp(p.file_name(), q.file_name()) == 0;
  }

  std::string describe(int thread) const {
    const dim3& t = threads_[thread]->index;
    std::ostringstream out;
    out << "thread (" << t.x << ", " << t.y << ", " << t.z << ") of block (" << blockIdx.x << ", "
        << blockIdx.y << ", " << blockIdx.z << ")";
    return out.str();
  }

  std::string describe_wait(int thread) const {
    const Thread& t = *threads_[thread];
    std::ostringstream out;
    out << describe(thread) << " waits";
    if (t.state == State::at_block) out << " for __syncthreads";
    if (t.state == State::at_warp)
      out << " for " << t.call.name << " with mask " << std::hex << t.call.mask;
    out << at(t.place);
    return out.str();
  }

  [[noreturn]] void stop(int a, int b) {
    const int warp = a / warpSize * warpSize;
    for (int i = warp; a == b && i < std::min(warp + warpSize, count_); ++i)
      if (threads_[i]->state == State::at_block) b = i;  // the one that a waits for
    throw_error(std::make_exception_ptr(
        Error("barrier mismatch: " + describe_wait(a) + "; " + describe_wait(b))));
  }

  // Fibers that stopped half-way cannot begin another block.
  [[noreturn]] void throw_error(std::exception_ptr error) {
    threads_.clear();
    std::rethrow_exception(error);
  }

  std::vector<int> ordered(int count) const {
    std::vector<int> out(count);
    std::iota(out.begin(), out.end(), 0);
    if (order == Order::reverse) std::reverse(out.begin(), out.end());
    std::mt19937 random(seed);
    if (order == Order::shuffled) std::shuffle(out.begin(), out.end(), random);
    return out;
  }

  static constexpr uint64_t kPoison = ~uint64_t{0};

  std::vector<std::unique_ptr<Thread>> threads_;
  std::unique_ptr<std::byte[]> shared_;
  const std::function<void()>* body_ = nullptr;
  std::exception_ptr error_;
  int count_ = 0;    // threads of a block
  int current_ = 0;  // the one that runs
};

// One machine, since threadIdx and its like are global in CUDA.
inline Machine machine;

inline void Machine::enter() {
  machine.threads_[machine.current_]->fiber.arrived();
  machine.run_thread_for_ever();
}

template <class T>
T exchange(const char* name, unsigned mask, T value, int source, Place place) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  WarpCall call{.name = name, .mask = mask, .source = source, .value = 0};
  std::memcpy(&call.value, &value, sizeof value);
  const uint64_t result = machine.wait_for_warp(call, place);
  std::memcpy(&value, &result, sizeof value);
  return value;
}

// First lane of the segment that the calling lane shuffles in.
inline int segment(int width) {
  if (width < 1 || width > warpSize || (width & (width - 1)) != 0)
    throw Error("the width of a shuffle is a power of two up to 32, got " + std::to_string(width));
  return machine.lane() & ~(width - 1);
}

}  // namespace gh::emulator

inline void __syncthreads(gh::emulator::Place place = gh::emulator::Place::current()) {
  gh::emulator::machine.wait_for_block(place);
}

inline void __syncwarp(unsigned mask = 0xffffffff,
                       gh::emulator::Place place = gh::emulator::Place::current()) {
  gh::emulator::exchange("__syncwarp", mask, 0, gh::emulator::machine.lane(), place);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
              gh::emulator::Place place = gh::emulator::Place::current()) {
  const int lane = gh::emulator::segment(width) + (source & (width - 1));
  return gh::emulator::exchange("__shfl_sync", mask, value, lane, place);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                 gh::emulator::Place place = gh::emulator::Place::current()) {
  const int self = gh::emulator::machine.lane(), lane = self - static_cast<int>(delta);
  const bool inside = lane >= gh::emulator::segment(width);
  return gh::emulator::exchange("__shfl_up_sync", mask, value, inside ? lane : self, place);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                   gh::emulator::Place place = gh::emulator::Place::current()) {
  const int self = gh::emulator::machine.lane(), lane = self + static_cast<int>(delta);
  const bool inside = lane < gh::emulator::segment(width) + width;
  return gh::emulator::exchange("__shfl_down_sync", mask, value, inside ? lane : self, place);
}

// Reads earlier segments, too; later ones give the lane's own value.
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                  gh::emulator::Place place = gh::emulator::Place::current()) {
  const int self = gh::emulator::machine.lane(), lane = self ^ lane_mask;
  const bool inside = lane < gh::emulator::segment(width) + width;
  return gh::emulator::exchange("__shfl_xor_sync", mask, value, inside ? lane : self, place);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              gh::emulator::Place place = gh::emulator::Place::current()) {
  return static_cast<unsigned>(gh::emulator::exchange("__ballot_sync", mask, predicate != 0 ? 1 : 0,
                                                      gh::emulator::machine.lane(), place));
}

inline int min(int a, int b) { return std::min(a, b); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

// One thread runs at a time.
template <class T>
T atomicAdd(T* target, T value) {
  return std::exchange(*target, *target + value);
}
template <class T>
T atomicMax(T* target, T value) {
  return std::exchange(*target, std::max(*target, value));
}

// The runtime: memory of the device is memory, streams are done at once.
using cudaStream_t = struct CUstream_st*;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorInvalidConfiguration = 9 };
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3
};
enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t) {
  std::memset(to, byte, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = static_cast<int>(gh::emulator::machine.shared_limit);
  return cudaSuccess;
}
template <class... T>
cudaError_t cudaFuncSetAttribute(void (*kernel)(T...), cudaFuncAttribute, int bytes) {
  if (static_cast<size_t>(bytes) > gh::emulator::machine.shared_limit) return cudaErrorInvalidValue;
  gh::emulator::machine.opted_in[reinterpret_cast<const void*>(kernel)] = bytes;
  return cudaSuccess;
}

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

// Refuses what a device refuses: sizes, and shared memory that was not asked for.
template <class... Expected, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...),
                               Given&&... arguments) {
  gh::emulator::Machine& machine = gh::emulator::machine;
  const dim3 grid = config->gridDim, block = config->blockDim;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads < 1 || threads > 1024 || block.z > 64 || grid.x < 1 || grid.x > 0x7fffffffu ||
      grid.y < 1 || grid.y > 65535 || grid.z < 1 || grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  const auto asked = machine.opted_in.find(reinterpret_cast<const void*>(kernel));
  const size_t allowed = asked == machine.opted_in.end() ? 48 << 10 : asked->second;
  if (config->dynamicSmemBytes > allowed) return cudaErrorInvalidValue;
  machine.launch(grid, block, config->dynamicSmemBytes, [&] { kernel(arguments...); });
  return cudaSuccess;
}
