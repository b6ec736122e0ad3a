// Keeps a machine that is busy with other work from stopping training.
//
// LibTorch computes in hundreds of short parallel regions a step, at whose ends threads of its
// OpenMP library wait for one another: GNU's lets them spin some ten milliseconds before they
// sleep. Alone on a machine that is the fastest way. Beside another program, the thread that is
// waited for often has no core, and those that spin keep it from getting one, region after region.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gh::host {

// Nanoseconds that threads of this process have waited for a core while they could have run, by
// number. Left out are threads whose names begin with "gh-": they do not compute, and wait for
// those that do. Empty where the system does not tell.
std::map<pid_t, int64_t> waiting_times();

// Whether all together waited for a tenth of the time between, in nanoseconds, or more.
bool cores_are_short(const std::map<pid_t, int64_t>& before, const std::map<pid_t, int64_t>& after,
                     int64_t nanoseconds);

// While it lives, compute threads that wait sleep after some microseconds. GNU's library does so
// when there are more OpenMP threads than cores: these are the ones too many. They only sleep.
class Crowd {
 public:
  // For `threads` compute threads, at least two, on `cores`.
  Crowd(int threads, int cores);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  void leave() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false;
  std::vector<std::thread> members_;
};

// Looks ten times a second whether compute threads get their cores, and makes a crowd while they
// do not. No number a run computes depends on it. Does nothing where OMP_WAIT_POLICY or
// GOMP_SPINCOUNT say how threads shall wait, with one compute thread, or where they are so few that
// a crowd would have more than sixteen members.
class BusyWatch {
 public:
  // For at::get_num_threads() compute threads.
  BusyWatch();
  ~BusyWatch();
  BusyWatch(const BusyWatch&) = delete;
  BusyWatch& operator=(const BusyWatch&) = delete;

  bool watching() const { return thread_.joinable(); }
  bool busy() const { return busy_; }  // any thread

 private:
  void watch(int threads, int cores) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::atomic<bool> busy_ = false;
  std::thread thread_;
};

}  // namespace gh::host
