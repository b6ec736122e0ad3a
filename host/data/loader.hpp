// Batches of views, made ahead of the one who trains on them. Threads claim samples, not batches,
// and write into the final place of a ring of batches that is allocated once.
//
//   Loader loader(set, plan, seed, options);
//   loader.begin({.epoch = 3, .order = …, .batch = 512});
//   while (std::optional<LoadedBatch> batch = loader.next()) …
//
// What comes out depends on nothing but the arguments: not on the number of threads, not on how far
// ahead they run. One thread uses the loader.
#pragma once

#include "data/view_maker.hpp"

#include <c10/core/Device.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gh::host {

struct LoaderOptions {
  int threads = 0;   // 0: all cores for pictures, one for vectors
  int prefetch = 3;  // batches made ahead
  bool skip_unreadable = false;
  int64_t views = 0;  // how many of the plan's views to make; 0: all
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
};

// One pass, or a part of one. Ranks with the same plan but for `rank` share each batch out evenly;
// what a last batch has too much for that is left out.
struct EpochPlan {
  int64_t epoch = 0;      // another number, other draws of what is random in the views
  at::Tensor order = {};  // [n] int64, positions in the set
  int64_t batch = 1;      // samples of all ranks
  bool drop_last = false;
  int64_t first_batch = 0;  // where to begin, for going on in the middle of an epoch
  int64_t rank = 0, world = 1;
  std::shared_ptr<const std::vector<float>> weights = {};  // per sample of the set; null: all 0
};

struct LoadedBatch {
  std::vector<at::Tensor> views;  // each [B, …] on the device asked for
  at::Tensor indices;             // [B] int64, CPU
  // Samples of this batch that could not be read and whose place another took, with the reason;
  // sorted. Each is in the batch where its own place was, and in no other.
  std::vector<std::string> skipped;
};

// A permutation of the set, or of `subset` ([n] int64), keyed by seed and epoch.
at::Tensor shuffled_order(uint64_t seed, int64_t epoch, int64_t samples, const at::Tensor& subset);

// Bytes of pictures [B, 3, H, W] as float32, on whatever device they lie: the same numbers as
// ViewFormat::floats.
at::Tensor normalized(const at::Tensor& bytes, const NormalizePlan& plan);

class Loader {
 public:
  // Set and plan outlive the loader.
  Loader(const SampleSet& set, const ViewPlan& plan, uint64_t seed, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Queues a pass; its first batches are made at once, or after those of the pass before it.
  void begin(EpochPlan plan);
  bool idle() const { return passes_.empty(); }
  // The next batch of the pass, or nothing once at its end. Throws what making it threw. The memory
  // is used again after the following call unless somebody still holds the tensors.
  std::optional<LoadedBatch> next();
  // Forgets every queued pass.
  void reset();

  double waited() const { return waited_; }  // seconds that next() waited, in all

 private:
  struct Pass {
    EpochPlan plan;
    std::vector<int64_t> samples;   // of this rank, batch after batch
    std::vector<std::size_t> ends;  // of each batch in `samples`
    int64_t first = 0;              // number of its first batch, counted over all passes
    std::size_t claimed = 0;        // samples
    std::size_t claimed_batches = 0, consumed_batches = 0;
  };
  struct Slot {
    std::vector<at::Tensor> views;
    std::vector<int64_t> indices;
    std::size_t missing = 0;
    std::exception_ptr error;
    std::size_t error_at = 0;
    std::vector<std::string> skipped;
  };
  struct Claim {
    std::shared_ptr<Pass> pass;
    Slot* slot = nullptr;
    std::size_t begin = 0, end = 0;  // in the pass's samples
    std::size_t row = 0;             // of the first in the batch
  };

  void work();
  std::optional<Claim> claim();
  void make(const Claim& claim, ViewMaker& maker);
  int64_t make_one(ViewMaker& maker, const Claim& claim, int64_t index, std::span<void* const> out);
  bool prepare(Slot& slot, int64_t rows);
  void allocate(Slot& slot, int64_t rows);
  void release();
  LoadedBatch hand_over(Slot& slot);
  at::Tensor on_device(const at::Tensor& view, const ViewGroup& group) const;

  const SampleSet& set_;
  const ViewPlan& plan_;
  uint64_t seed_;
  LoaderOptions options_;
  ViewFormat format_;
  int64_t views_;
  std::size_t grain_;  // samples claimed at once

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<std::shared_ptr<Pass>> passes_;
  std::vector<Slot> ring_;
  int64_t queued_ = 0;    // batches, over all passes
  int64_t released_ = 0;  // batches whose slots may be filled again
  bool holding_ = false;  // the caller has a batch
  int busy_ = 0;          // threads that make samples
  bool resetting_ = false;
  bool stop_ = false;
  double waited_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace gh::host
