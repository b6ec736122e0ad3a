// Signals that ask a run to stop: SIGINT, SIGTERM, SIGUSR1. The handler sets a flag; the trainer
// finishes its step and saves. A second SIGINT ends the program at once.
#pragma once

namespace gh::host {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();  // gives the signals back
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  static int requested();  // number of the signal, or 0
};

}  // namespace gh::host
