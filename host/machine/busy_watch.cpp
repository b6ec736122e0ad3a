#include "machine/busy_watch.hpp"

#include "gh/ops/parallel.hpp"
#include "machine/device.hpp"

#include <ATen/Parallel.h>

#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace gh::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kCalm = 10;  // intervals without shortage until threads spin again

// Each member of a crowd brings as many OpenMP threads as compute, less itself.
int members_needed(int threads, int cores) { return (cores - threads) / (threads - 1) + 1; }

}  // namespace

std::map<pid_t, int64_t> waiting_times() {
  std::map<pid_t, int64_t> out;
  std::error_code gone;  // threads end while one looks
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::string name;
    std::ifstream names(entry.path() / "comm"), file(entry.path() / "schedstat");
    if (std::getline(names, name) && name.starts_with("gh-")) continue;
    int64_t ran = 0, waited = 0;
    if (file >> ran >> waited)
      out[static_cast<pid_t>(std::atoi(entry.path().filename().c_str()))] = waited;
  }
  return out;
}

bool cores_are_short(const std::map<pid_t, int64_t>& before, const std::map<pid_t, int64_t>& after,
                     int64_t nanoseconds) {
  int64_t waited = 0;
  for (const auto& [thread, now] : after)
    if (const auto then = before.find(thread); then != before.end()) waited += now - then->second;
  return waited >= nanoseconds / 10;
}

Crowd::Crowd(int threads, int cores) {
  const int count = members_needed(threads, cores);
  try {
    for (int i = 0; i < count; ++i)
      members_.emplace_back([this, threads] {
        // An OpenMP team of its own, which lasts as long as the thread that began it.
        ops::parallel_indices(threads, [](int64_t) {});
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return leaving_; });
      });
  } catch (...) {
    leave();
    throw;
  }
}

Crowd::~Crowd() { leave(); }

void Crowd::leave() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  for (std::thread& member : members_) member.join();
}

BusyWatch::BusyWatch() {
  const int threads = at::get_num_threads(), cores = usable_cores();
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  if (threads < 2 || members_needed(threads, cores) > 16 || waiting_times().empty()) return;
  thread_ = std::thread([this, threads, cores] { watch(threads, cores); });
  ::pthread_setname_np(thread_.native_handle(), "gh-busy-watch");
}

BusyWatch::~BusyWatch() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// What fails here, such as starting threads, fails to make training faster, and no more.
void BusyWatch::watch(int threads, int cores) noexcept try {
  std::unique_ptr<Crowd> crowd;
  auto before = waiting_times();
  auto then = Clock::now();
  int calm = 0;
  for (std::unique_lock lock(mutex_);
       !changed_.wait_for(lock, kInterval, [&] { return ending_; });) {
    auto after = waiting_times();
    const auto now = Clock::now();
    calm =
        cores_are_short(before, after, std::chrono::nanoseconds(now - then).count()) ? 0 : calm + 1;
    if (calm == 0 && !crowd) crowd = std::make_unique<Crowd>(threads, cores);
    if (calm >= kCalm) crowd.reset();
    busy_ = crowd != nullptr;
    before = std::move(after);
    then = now;
  }
} catch (const std::exception&) {
  busy_ = false;
}

}  // namespace gh::host
