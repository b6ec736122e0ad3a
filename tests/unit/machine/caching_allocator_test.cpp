#include "machine/caching_allocator.hpp"

#include "gh/tensor.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <catch2/catch.hpp>

#include <malloc.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace gh::host;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

uintptr_t address(const c10::DataPtr& p) { return reinterpret_cast<uintptr_t>(p.get()); }

// Fills first, last and every page's first byte.
void mark(void* memory, std::size_t bytes, unsigned char value) {
  auto* p = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; i += 4096) p[i] = value;
  p[bytes - 1] = value;
}
bool marked(const void* memory, std::size_t bytes, unsigned char value) {
  const auto* p = static_cast<const unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; i += 4096)
    if (p[i] != value) return false;
  return p[bytes - 1] == value;
}

TEST_CASE("memory of tensors is aligned, writable to its end and disjoint") {
  std::vector<std::pair<c10::DataPtr, std::size_t>> held;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{63}, 255 * kKiB, 256 * kKiB, 300 * kKiB, 2 * kMiB - 1, 2 * kMiB,
        2 * kMiB + 1, 16 * kMiB, 33 * kMiB + 7, 300 * kMiB})
    for (int twice = 0; twice < 2; ++twice) {
      held.emplace_back(caching_allocator().allocate(bytes), bytes);
      CHECK(address(held.back().first) % 64 == 0);
      if (bytes >= 2 * kMiB) CHECK(address(held.back().first) % (2 * kMiB) == 0);
      mark(held.back().first.get(), bytes, static_cast<unsigned char>(held.size()));
    }
  for (std::size_t i = 0; i < held.size(); ++i)
    CHECK(marked(held[i].first.get(), held[i].second, static_cast<unsigned char>(i + 1)));
}

TEST_CASE("a block that was given back is handed out again, to nobody twice") {
  release_cached_memory();
  std::set<uintptr_t> first;
  {
    std::vector<c10::DataPtr> held;
    for (int i = 0; i < 8; ++i)
      first.insert(address(held.emplace_back(caching_allocator().allocate(5 * kMiB))));
  }
  REQUIRE(first.size() == 8);
  CHECK(allocator_statistics().cached >= static_cast<int64_t>(8 * 5 * kMiB));
  std::set<uintptr_t> second;
  std::vector<c10::DataPtr> held;
  for (int i = 0; i < 8; ++i)
    second.insert(address(held.emplace_back(caching_allocator().allocate(5 * kMiB - 100 * i))));
  CHECK(second == first);
  const c10::DataPtr larger = caching_allocator().allocate(7 * kMiB);
  CHECK(first.count(address(larger)) == 0);
}

TEST_CASE("a much larger block is not spent on a small request") {
  release_cached_memory();
  uintptr_t large = 0;
  { large = address(caching_allocator().allocate(64 * kMiB)); }
  const c10::DataPtr small = caching_allocator().allocate(3 * kMiB);
  CHECK(address(small) != large);
  CHECK(allocator_statistics().cached == 64 * static_cast<int64_t>(kMiB));
}

TEST_CASE("statistics count what is in use and what is cached") {
  release_cached_memory();
  const AllocatorStatistics before = allocator_statistics();
  CHECK(before.cached == 0);
  {
    const c10::DataPtr p = caching_allocator().allocate(16 * kMiB);
    CHECK(allocator_statistics().in_use - before.in_use == 16 * static_cast<int64_t>(kMiB));
  }
  CHECK(allocator_statistics().in_use == before.in_use);
  CHECK(allocator_statistics().cached == 16 * static_cast<int64_t>(kMiB));
  release_cached_memory();
  CHECK(allocator_statistics().cached == 0);
}

TEST_CASE("what is cached stays within what was needed") {
  release_cached_memory();
  // Every size once: without a bound, all of it would be kept.
  int64_t most = 0;
  for (std::size_t size = 64; size < 1500; size += size / 7) {
    caching_allocator().allocate(size * kMiB);  // not touched, so no page is used
    const AllocatorStatistics now = allocator_statistics();
    most = std::max(most, now.in_use + now.cached);
  }
  CHECK(most < static_cast<int64_t>(1.15 * 1.25 * 1500 * kMiB + 256 * kMiB));
  release_cached_memory();
}

TEST_CASE("a block nobody wants any more is given back after a while") {
  release_cached_memory();
  { caching_allocator().allocate(48 * kMiB); }
  REQUIRE(allocator_statistics().cached == 48 * static_cast<int64_t>(kMiB));
  for (int i = 0; i < 50'000; ++i) caching_allocator().allocate(256 * kKiB);
  CHECK(allocator_statistics().cached < static_cast<int64_t>(kMiB));
}

TEST_CASE("zero bytes and absurd sizes") {
  CHECK(caching_allocator().allocate(0).get() == nullptr);
  CHECK_THROWS_AS(caching_allocator().allocate(~std::size_t{0}), c10::OutOfMemoryError);
  CHECK_THROWS_AS(caching_allocator().allocate(std::size_t{1} << 62), c10::OutOfMemoryError);
  // More than there is address space left: the cache is given up before the refusal.
  { caching_allocator().allocate(4 * kMiB); }
  CHECK_THROWS_AS(caching_allocator().allocate((std::size_t{1} << 46) - kMiB),
                  c10::OutOfMemoryError);
  CHECK(allocator_statistics().cached == 0);
  CHECK(caching_allocator().allocate(4 * kMiB).get() != nullptr);
}

TEST_CASE("many threads take and return memory, also one another's") {
  constexpr int kThreads = 8, kRounds = 400;
  std::atomic<int> damaged{0};
  std::vector<std::vector<std::pair<c10::DataPtr, std::size_t>>> left(kThreads);
  const auto work = [&](int thread) {
    unsigned state = 12345u + static_cast<unsigned>(thread);
    auto& held = left[thread];
    for (int round = 0; round < kRounds; ++round) {
      state = state * 1664525u + 1013904223u;
      const std::size_t bytes = std::size_t{1} << (10 + (state >> 8) % 13);
      held.emplace_back(caching_allocator().allocate(bytes), bytes);
      mark(held.back().first.get(), bytes, static_cast<unsigned char>(thread + 1));
      if (held.size() > 6) {
        const std::size_t victim = (state >> 20) % held.size();
        if (!marked(held[victim].first.get(), held[victim].second,
                    static_cast<unsigned char>(thread + 1)))
          ++damaged;
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
      }
    }
  };
  const AllocatorStatistics before = allocator_statistics();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t)
    for (const auto& [memory, bytes] : left[t])
      if (!marked(memory.get(), bytes, static_cast<unsigned char>(t + 1))) ++damaged;
  CHECK(damaged == 0);
  left.clear();
  CHECK(allocator_statistics().in_use == before.in_use);
}

TEST_CASE("blocks that threads exchange quickly are counted right") {
  const AllocatorStatistics before = allocator_statistics();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 20'000; ++i) caching_allocator().allocate((256 + i % 64) * kKiB);
    });
  for (std::thread& t : threads) t.join();
  CHECK(allocator_statistics().in_use == before.in_use);
}

TEST_CASE("small blocks go back to the C library") {
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 100'000; ++i) caching_allocator().allocate(kKiB);
  CHECK(mallinfo2().uordblks < before + kMiB);
}

TEST_CASE("LibTorch takes it, and tensors from before stay valid") {
#if !defined(__SANITIZE_ADDRESS__)
  c10::Allocator* const original = c10::GetCPUAllocator();
  at::Tensor before = at::empty({1 << 20});
  void* const raw_before = original->raw_allocate(3 * kMiB);
  install_caching_allocator();
  install_caching_allocator();
  REQUIRE(c10::GetCPUAllocator() == &caching_allocator());
  const int64_t in_use = allocator_statistics().in_use;
  {
    const at::Tensor x = at::empty({1 << 20});
    CHECK(allocator_statistics().in_use - in_use == 4 * static_cast<int64_t>(kMiB));
    CHECK((x.zero_() + 1).sum().item<float>() == 1 << 20);
  }
  CHECK(allocator_statistics().in_use == in_use);
  before = at::Tensor();
  // The raw interface has no owner in the pointer: a block may meet the other allocator.
  c10::GetCPUAllocator()->raw_deallocate(raw_before);
  void* const raw = c10::GetCPUAllocator()->raw_allocate(3 * kMiB);
  CHECK(allocator_statistics().in_use > in_use);
  c10::GetCPUAllocator()->raw_deallocate(raw);
  CHECK(allocator_statistics().in_use == in_use);
  c10::SetCPUAllocator(original);
#endif
}

}  // namespace
