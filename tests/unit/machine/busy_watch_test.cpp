#include "machine/busy_watch.hpp"

#include "gh/ops/parallel.hpp"

#include <ATen/Parallel.h>
#include <catch2/catch.hpp>

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

using namespace gh::host;
using namespace std::chrono_literals;

namespace {

class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }

 private:
  int before_;
};

// Two threads that compute without end on one core, so that each waits half of the time.
class Rivals {
 public:
  Rivals() {
    cpu_set_t all, one;
    REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    for (std::thread& thread : threads_) {
      thread = std::thread([this] {
        while (!done_) continue;
      });
      CHECK(::pthread_setaffinity_np(thread.native_handle(), sizeof one, &one) == 0);
    }
  }
  ~Rivals() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::thread threads_[2];
};

template <class Condition>
bool comes_true(Condition condition) {
  for (const auto end = std::chrono::steady_clock::now() + 120s;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(10ms))
    if (condition()) return true;
  return false;
}

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Processor time, which other programs do not change, that threads spend on waiting after a loop.
double spent_on_waiting() {
  const double before = cpu_seconds();
  for (int i = 0; i < 5; ++i) {
    gh::ops::parallel_indices(2, [](int64_t) {});
    std::this_thread::sleep_for(50ms);
  }
  return cpu_seconds() - before;
}

}  // namespace

TEST_CASE("cores are short where threads wait for them a tenth of the time") {
  constexpr int64_t kSecond = 1'000'000'000;
  const std::map<pid_t, int64_t> before = {{1, 100}, {2, 0}, {4, kSecond}};  // the last has ended
  const auto after = [&](int64_t first, int64_t second) {
    return cores_are_short(before, {{1, 100 + first}, {2, second}, {3, kSecond}}, kSecond);
  };
  CHECK_FALSE(after(0, 0));
  CHECK(after(0, kSecond / 2));
  CHECK(after(kSecond / 20, kSecond / 20));
  CHECK_FALSE(after(kSecond / 20, kSecond / 25));
  CHECK_FALSE(cores_are_short({}, {}, kSecond));
}

TEST_CASE("threads with names of ours are not among those that compute") {
  std::atomic<pid_t> number = 0;
  std::atomic<bool> done = false;
  std::thread loader([&] {
    ::pthread_setname_np(::pthread_self(), "gh-loader");
    number = ::gettid();
    while (!done) std::this_thread::sleep_for(1ms);
  });
  CHECK(comes_true([&] { return number != 0; }));
  const auto times = waiting_times();
  CHECK(times.contains(::gettid()));
  CHECK_FALSE(times.contains(number));
  done = true;
  loader.join();
}

TEST_CASE("a crowd lets threads sleep that wait, and they spin again after it") {
  const Threads two(2);
  gh::ops::parallel_indices(2, [](int64_t) {});
  const double alone = spent_on_waiting();
  if (alone < 5e-3) {
    WARN("threads do not spin here: one core, GOMP_SPINCOUNT, or not GNU's OpenMP");
    return;
  }
  {
    cpu_set_t set;
    REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
    const Crowd crowd(2, CPU_COUNT(&set));
    // Its own threads may still spin their first time.
    CHECK(comes_true([&] { return spent_on_waiting() < alone / 4; }));
    std::atomic<int64_t> sum = 0;
    gh::ops::parallel_indices(1000, [&](int64_t i) { sum += i; });
    CHECK(sum == 499500);
  }
  CHECK(comes_true([&] { return spent_on_waiting() > alone / 2; }));
}

TEST_CASE("a watch notices that cores are short, and that they no longer are") {
  ::unsetenv("GOMP_SPINCOUNT");
  ::unsetenv("OMP_WAIT_POLICY");
  const Threads all(std::max(2, at::get_num_threads()));
  const BusyWatch watch;
  REQUIRE(watch.watching());
  {
    const Rivals rivals;
    CHECK(comes_true([&] { return watch.busy(); }));
  }
  // This thread, too, waits for a core when others test: let it not count.
  ::pthread_setname_np(::pthread_self(), "gh-test");
  CHECK(comes_true([&] { return !watch.busy(); }));
}

TEST_CASE("nothing is watched that was decided otherwise") {
  ::unsetenv("GOMP_SPINCOUNT");
  ::unsetenv("OMP_WAIT_POLICY");
  {
    const Threads one(1);
    CHECK_FALSE(BusyWatch().watching());
  }
  const Threads all(std::max(2, at::get_num_threads()));
  for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) {
    ::setenv(name, name[0] == 'G' ? "300000" : "active", 1);
    CHECK_FALSE(BusyWatch().watching());
    ::unsetenv(name);
  }
  CHECK(BusyWatch().watching());
}
