#include "machine/interrupt.hpp"

#include "gh/interrupt.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace gh::host {
namespace {

constexpr int kExitCode = 75;  // kInterrupted of cli/exit_codes.hpp
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1};
constexpr int64_t kSameWish = 500'000'000;  // nanoseconds

// Signal handlers have no other way to reach the program.
std::atomic<int64_t> first_at{0};  // nanoseconds; 0: none came
std::atomic<sem_t*> second{nullptr};
std::array<struct sigaction, kSignals.size()> previous;

int64_t nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void on_signal(int) {
  const int saved = errno;
  int64_t none = 0;
  const int64_t now = nanoseconds();
  set_interrupted(true);
  if (!first_at.compare_exchange_strong(none, now) && now - none > kSameWish)
    if (sem_t* waiting = second.load()) ::sem_post(waiting);
  errno = saved;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  ::sem_init(&second_, 0, 0);
  first_at = 0;
  set_interrupted(false);
  second = &second_;
  watcher_ = std::thread([this] { wait_for_second(); });
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous[i]);
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  second = nullptr;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ::sem_post(&second_);
  watcher_.join();
  ::sem_destroy(&second_);
  set_interrupted(false);
}

void InterruptGuard::last_words(std::function<void()> words) {
  const std::lock_guard lock(mutex_);
  words_ = std::move(words);
}

void InterruptGuard::wait_for_second() {
  while (::sem_wait(&second_) != 0) {
  }
  const std::lock_guard lock(mutex_);
  if (over_) return;
  try {
    if (words_) words_();
  } catch (...) {  // leaving matters more
  }
  ::_exit(kExitCode);
}

}  // namespace gh::host
