#include "train/interrupt.hpp"

#include <csignal>

#include <array>

namespace gh::host {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1};
// Signal handlers have no other way to reach the program.
volatile std::sig_atomic_t requested_signal = 0;
std::array<struct sigaction, kSignals.size()> previous;

void on_signal(int number) {
  requested_signal = number;
  if (number == SIGINT) std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  requested_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous[i]);
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
}

int InterruptGuard::requested() { return requested_signal; }

}  // namespace gh::host
