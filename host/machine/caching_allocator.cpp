#include "machine/caching_allocator.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace gh::host {
namespace {

constexpr std::size_t kSmallest = std::size_t{1} << 18;  // of what is cached
constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kLargest = std::size_t{1} << 46;  // more than a process can address
constexpr std::size_t kMargin = std::size_t{1} << 28;
constexpr uint64_t kWindow = 20'000;  // requests; dozens of training steps

// Eight sizes for each power of two, so that at most an eighth is wasted; whole huge pages.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step =
      std::max(std::bit_floor(bytes) / 8, bytes >= kHugePage ? kHugePage : std::size_t{1});
  return (bytes + step - 1) / step * step;
}

// Null when the system has none.
void* map_huge(std::size_t size) noexcept {
  void* const mapped =
      mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(mapped);
  const std::size_t before = -reinterpret_cast<uintptr_t>(begin) % kHugePage;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + size, kHugePage - before);
  madvise(begin + before, size, MADV_HUGEPAGE);  // a wish: small pages do as well
  return begin + before;
}

// Blocks of kSmallest bytes and more, in use and kept.
//
// What is kept is bounded by what was needed: in use and kept together never exceed 1¼ times the
// most that was in use lately, and a margin. "Lately" is the current and the last window of
// requests, so that an evaluation with larger batches does not count forever. A block that nobody
// wanted for a window is given back.
class BlockCache {
 public:
  void* take(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    if (++requests_ % kWindow == 0) begin_window();
    void* pointer = reuse(size);
    if (!pointer) {
      make_room(size);
      pointer = fresh(size);
    }
    if (!pointer) {
      release_down_to(0);
      pointer = fresh(size);
    }
    TORCH_CHECK_WITH(OutOfMemoryError, pointer,
                     "CPU: can't allocate memory: you tried to allocate ", bytes, " bytes");
    in_use_ += blocks_.at(pointer).size;
    peak_ = std::max(peak_, in_use_);
    return pointer;
  }

  // False when the pointer is not one of these blocks.
  bool give_back(void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(pointer);
    if (found == blocks_.end()) return false;
    const std::size_t size = found->second.size;
    found->second.returned = requests_;
    kept_.emplace(size, pointer);
    in_use_ -= size;
    cached_ += size;
    return true;
  }

  void release_all() {
    const std::lock_guard lock(mutex_);
    release_down_to(0);
  }

  AllocatorStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return {static_cast<int64_t>(in_use_), static_cast<int64_t>(cached_)};
  }

 private:
  struct Block {
    std::size_t size = 0;
    uint64_t returned = 0;  // the request after which it came back
  };
  using Kept = std::multimap<std::size_t, void*>;  // by size; of equal ones the latest is last

  void* reuse(std::size_t size) {
    const auto smallest = kept_.lower_bound(size);
    if (smallest == kept_.end() || smallest->first > size + size / 4) return nullptr;
    const auto chosen = std::prev(kept_.upper_bound(smallest->first));
    void* const pointer = chosen->second;
    cached_ -= chosen->first;
    kept_.erase(chosen);
    return pointer;
  }

  void* fresh(std::size_t size) {
    void* pointer = nullptr;
    if (size >= kHugePage) {
      pointer = map_huge(size);
    } else {
      try {
        pointer = c10::alloc_cpu(size);
      } catch (const c10::Error&) {
      }
    }
    if (pointer) blocks_[pointer] = {.size = size, .returned = 0};
    return pointer;
  }

  void make_room(std::size_t size) {
    const std::size_t needed = in_use_ + size;
    const std::size_t most = std::max({peak_, last_peak_, needed});
    const std::size_t bound = most + most / 4 + kMargin;
    release_down_to(bound - needed);
  }

  void begin_window() {
    last_peak_ = std::exchange(peak_, in_use_);
    for (auto kept = kept_.begin(); kept != kept_.end();)
      kept = blocks_.at(kept->second).returned + kWindow < requests_ ? release(kept) : ++kept;
  }

  // Those that lay longest go first.
  void release_down_to(std::size_t bound) {
    while (cached_ > bound)
      release(std::min_element(kept_.begin(), kept_.end(), [&](const auto& a, const auto& b) {
        return blocks_.at(a.second).returned < blocks_.at(b.second).returned;
      }));
  }

  Kept::iterator release(Kept::iterator kept) {
    const auto [size, pointer] = *kept;
    if (size >= kHugePage)
      munmap(pointer, size);
    else
      c10::free_cpu(pointer);
    blocks_.erase(pointer);
    cached_ -= size;
    return kept_.erase(kept);
  }

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  Kept kept_;
  std::size_t in_use_ = 0, cached_ = 0, peak_ = 0, last_peak_ = 0;
  uint64_t requests_ = 0;
};

// Never destroyed: tensors in static storage return their memory later than anything.
BlockCache& cache() {
  static BlockCache& blocks = *new BlockCache;
  return blocks;
}

// Also frees what the C library gave, be it before or after the installation: LibTorch's raw
// interface asks whichever allocator is installed at that time.
void free_block(void* pointer) {
  if (pointer && !cache().give_back(pointer)) c10::free_cpu(pointer);
}

class CachingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK_WITH(OutOfMemoryError, bytes <= kLargest,
                     "CPU: can't allocate memory: you tried to allocate ", bytes, " bytes");
    void* const pointer = bytes == 0          ? nullptr
                          : bytes < kSmallest ? c10::alloc_cpu(bytes)
                                              : cache().take(bytes);
    return {pointer, pointer, &free_block, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

c10::Allocator& caching_allocator() {
  static CachingAllocator& allocator = *new CachingAllocator;
  return allocator;
}

void install_caching_allocator() {
#if !defined(__SANITIZE_ADDRESS__)
  c10::SetCPUAllocator(&caching_allocator());
#endif
}

AllocatorStatistics allocator_statistics() { return cache().statistics(); }
void release_cached_memory() { cache().release_all(); }

}  // namespace gh::host
