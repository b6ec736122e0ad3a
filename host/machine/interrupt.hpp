// Signals that ask the program to stop: SIGINT, SIGTERM, SIGUSR1. At the first, gh::interrupted()
// becomes true: the trainer finishes its step and saves, long loops throw. At a second the program
// leaves at once. Signals within half a second of the first are the same wish: a launcher repeats
// what the terminal has already told its ranks.
#pragma once

#include <semaphore.h>

#include <functional>
#include <mutex>
#include <thread>

namespace gh::host {

// One at a time. Where there is none, signals end the program as they always do.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();  // gives the signals back
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // What to do before leaving at a second signal, by a thread of the guard while all others still
  // run; the exit code is kInterrupted whatever it throws. Empty: nothing.
  void last_words(std::function<void()> words);

 private:
  void wait_for_second();

  sem_t second_;
  std::mutex mutex_;
  std::function<void()> words_;
  bool over_ = false;
  std::thread watcher_;
};

}  // namespace gh::host
