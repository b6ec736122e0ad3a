#include "train/console.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gh::host {
namespace {

constexpr int kBarWidth = 24;
constexpr int64_t kPlainLines = 10;  // of a whole stage, where there is no terminal

std::string duration(double seconds) {
  const int64_t s = static_cast<int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

std::string bar(double part) {
  const int full = static_cast<int>(part * kBarWidth + 0.5);
  std::string out;
  for (int i = 0; i < kBarWidth; ++i) out += i < full ? "█" : "·";
  return out;
}

}  // namespace

Console::Console()
    : terminal_(::isatty(STDERR_FILENO) == 1),
      color_(terminal_ && std::getenv("NO_COLOR") == nullptr) {}

void Console::clear_line() {
  if (line_open_) fmt::print(stderr, "\r\x1b[2K");
  line_open_ = false;
}

void Console::say(std::string_view line) {
  clear_line();
  fmt::print(stderr, "{}\n", line);
}

void Console::warn(std::string_view line) {
  clear_line();
  if (color_)
    fmt::print(stderr, "\x1b[33mwarning:\x1b[0m {}\n", line);
  else
    fmt::print(stderr, "warning: {}\n", line);
}

void Console::tick(const Tick& t) {
  if (t.epoch <= 1) started_ = t.epoch == 0 ? Clock::now() : started_;
  const double spent = std::chrono::duration<double>(Clock::now() - started_).count();
  const double part =
      t.epochs > 0 ? static_cast<double>(t.epoch) / static_cast<double>(t.epochs) : 1;
  const double left = t.epoch > 0 ? spent / part - spent : 0;
  const std::string numbers = fmt::format(
      "epoch {}/{}  loss {:.4f}  lr {:.3g}  {:.0f} samples/s  {:.0f} % waiting  {} left", t.epoch,
      t.epochs, t.loss, t.rate, t.samples_per_second, 100 * t.waiting, duration(left));
  if (!terminal_) {
    const int64_t every = std::max<int64_t>(1, t.epochs / kPlainLines);
    if (t.epoch > 0 && (t.epoch % every == 0 || t.epoch == t.epochs))
      fmt::print(stderr, "{}  {}\n", t.stage, numbers);
    return;
  }
  const auto now = Clock::now();
  if (t.epoch != t.epochs && now - drawn_ < std::chrono::milliseconds(80)) return;
  drawn_ = now;
  fmt::print(stderr, "\r\x1b[2K{}  {}  {}", t.stage, bar(part), numbers);
  std::fflush(stderr);
  line_open_ = true;
}

void Console::finish() {
  if (line_open_) fmt::print(stderr, "\n");
  line_open_ = false;
}

}  // namespace gh::host
