#include "train/console.hpp"

#include "run/standard_streams.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gh::host {
namespace {

constexpr int kBarWidth = 24;
constexpr int64_t kPlainLines = 10;             // of a whole stage, where there is no terminal …
constexpr std::chrono::minutes kPlainPause{1};  // … and at least one in this time

std::string duration(double seconds) {
  const int64_t s = static_cast<int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

std::string bytes(int64_t count) {
  const double mega = static_cast<double>(count) / (1 << 20);
  return mega < 1024 ? fmt::format("{:.0f} MB", mega) : fmt::format("{:.1f} GB", mega / 1024);
}

std::string bar(double part) {
  const int full = static_cast<int>(part * kBarWidth + 0.5);
  std::string out;
  for (int i = 0; i < kBarWidth; ++i) out += i < full ? "█" : "·";
  return out;
}

}  // namespace

Console::Console(bool quiet)
    : quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      color_(terminal_ && std::getenv("NO_COLOR") == nullptr) {}

void Console::clear_line() {
  if (line_open_) print_message("\r\x1b[2K");
  line_open_ = false;
}

void Console::say(std::string_view line) {
  if (quiet_) return;
  clear_line();
  print_message("{}\n", line);
}

void Console::warn(std::string_view line) {
  if (quiet_) return;
  clear_line();
  if (color_)
    print_message("\x1b[33mwarning:\x1b[0m {}\n", line);
  else
    print_message("warning: {}\n", line);
}

// One short line for a terminal of 80 columns: what matters most stands first.
void Console::tick(const Tick& t) {
  if (quiet_) return;
  const std::string numbers = fmt::format(
      "epoch {}/{}  loss {:.4f}  lr {:.3g}  {:.0f} samples/s  {:.0f} % waiting  {}  {} left",
      t.epoch, t.epochs, t.loss, t.rate, t.samples_per_second, 100 * t.waiting, bytes(t.memory),
      duration(t.seconds_left));
  const auto now = Clock::now();
  if (!terminal_) {
    const int64_t every = std::max<int64_t>(1, t.epochs / kPlainLines);
    const bool due =
        t.part == 0 && t.epoch > plain_epoch_ && (t.epoch % every == 0 || t.epoch == t.epochs);
    if (!due && now - drawn_ < kPlainPause) return;
    plain_epoch_ = t.epoch;
    drawn_ = now;
    print_message("{}  {}\n", t.stage, numbers);
    return;
  }
  const bool last = t.epoch == t.epochs;
  if (!last && now - drawn_ < std::chrono::milliseconds(80)) return;
  drawn_ = now;
  const double done = static_cast<double>(t.epoch) + t.part;
  const double part = t.epochs > 0 ? done / static_cast<double>(t.epochs) : 1;
  print_message("\r\x1b[2K{}  {}  {}", t.stage, bar(part), numbers);
  std::fflush(stderr);
  line_open_ = true;
}

void Console::finish() {
  if (line_open_) print_message("\n");
  line_open_ = false;
}

}  // namespace gh::host
