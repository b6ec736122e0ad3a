// Loops on LibTorch's threads.
#include "gh/ops/parallel.hpp"

#include "unit/ops/threads.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using gh::ops::parallel_indices;
using gh::ops::parallel_pieces;

TEST_CASE("parallel indices are each visited once, and errors come through") {
  for (const int threads : {1, 3, 7})
    for (const int64_t count : {1, 2, 3, 1000}) {
      const Threads several(threads);
      std::vector<std::atomic<int>> visits(count);
      parallel_indices(count, [&](int64_t i) { ++visits.at(static_cast<std::size_t>(i)); });
      CAPTURE(threads, count);
      CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v == 1; }));
    }
  parallel_indices(0, [](int64_t) { FAIL("nothing to visit"); });
  const Threads three(3);
  for (const int64_t thrower : {0, 50, 99})
    CHECK_THROWS_AS(parallel_indices(100,
                                     [&](int64_t i) {
                                       if (i == thrower) gh::fail(gh::ErrorCode::numeric, "here");
                                     }),
                    gh::Error);
  // And the threads are there afterwards.
  std::atomic<int64_t> sum = 0;
  parallel_indices(100, [&](int64_t i) { sum += i; });
  CHECK(sum == 4950);
}

TEST_CASE("parallel indices run on as many threads as LibTorch has") {
  for (const std::size_t threads : {1, 2, 3}) {
    const Threads several(static_cast<int>(threads));
    std::vector<std::thread::id> ids(12);
    parallel_indices(
        12, [&](int64_t i) { ids[static_cast<std::size_t>(i)] = std::this_thread::get_id(); });
    CHECK(std::set(ids.begin(), ids.end()).size() == threads);
    CHECK(std::unique(ids.begin(), ids.end()) - ids.begin() ==
          static_cast<std::ptrdiff_t>(threads));  // neighbours on one thread
  }
}

TEST_CASE("inside another loop a loop stays on its thread, and visits everything") {
  const Threads three(3);
  std::vector<std::atomic<int>> visits(60);
  std::atomic<int> strangers = 0;
  parallel_indices(6, [&](int64_t outer) {
    const auto here = std::this_thread::get_id();
    const auto visit = [&](int64_t inner) {
      ++visits[static_cast<std::size_t>(10 * outer + inner)];
      if (std::this_thread::get_id() != here) ++strangers;
    };
    if (outer % 2 == 0)
      parallel_indices(10, visit);
    else
      parallel_pieces(10, 3, [&](int64_t inner, int64_t) { visit(inner); });
  });
  CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v == 1; }));
  CHECK(strangers == 0);
}

TEST_CASE("pieces are each done once, by workers that never overlap with themselves") {
  for (const int threads : {1, 2, 5})
    for (const int64_t workers : {1, 2, 3, 8})
      for (const int64_t count : {1, 2, 7, 200}) {
        const Threads several(threads);
        std::vector<std::atomic<int>> visits(count), busy(workers);
        std::atomic<int> overlaps = 0, strange = 0;
        parallel_pieces(count, workers, [&](int64_t i, int64_t worker) {
          if (worker < 0 || worker >= workers) {
            ++strange;
            return;
          }
          if (++busy[static_cast<std::size_t>(worker)] != 1) ++overlaps;
          ++visits.at(static_cast<std::size_t>(i));
          if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
          --busy[static_cast<std::size_t>(worker)];
        });
        CAPTURE(threads, workers, count);
        CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v == 1; }));
        CHECK(overlaps == 0);
        CHECK(strange == 0);
      }
}

TEST_CASE("a worker that is held up leaves the other pieces to the rest") {
  const Threads two(2);
  std::atomic<int> done = 0;
  std::atomic<bool> late = false;
  // The first piece waits for all others: dealt out beforehand, half of them would wait for it.
  parallel_pieces(20, 2, [&](int64_t i, int64_t) {
    const auto begin = std::chrono::steady_clock::now();
    while (i == 0 && done < 19 && !late) {
      late = std::chrono::steady_clock::now() - begin > std::chrono::seconds(60);
      std::this_thread::yield();
    }
    ++done;
  });
  CHECK(!late);
  CHECK(done == 20);
}

TEST_CASE("no pieces need no worker, and what a piece throws comes through") {
  parallel_pieces(0, 4, [](int64_t, int64_t) { FAIL("nothing to do"); });
  const Threads three(3);
  for (const int64_t thrower : {0, 13, 49}) {
    try {
      parallel_pieces(50, 3, [&](int64_t i, int64_t) {
        if (i == thrower) gh::fail(gh::ErrorCode::numeric, "piece ", i);
      });
      FAIL("not thrown");
    } catch (const gh::Error& error) {
      CHECK(error.code() == gh::ErrorCode::numeric);
      CHECK(std::string(error.what()) == "piece " + std::to_string(thrower));
    }
  }
}

}  // namespace
