#include "plugins/child_process.hpp"

#include "text/plain_text.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gh::host {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kKeptOutput = 2000;

// What the child tells the parent: a tag, a length, that many bytes.
enum Tag : char { kDoing = 'd', kResult = 'r', kExit = 'e' };

class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    require(::pipe2(ends.data(), O_CLOEXEC) == 0, ErrorCode::internal,
            "pipe: ", std::strerror(errno));
    out_ = ends[0];
    in_ = ends[1];
  }
  ~Pipe() {
    close_out();
    close_in();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int out() const { return out_; }
  int in() const { return in_; }
  void close_out() { close(out_); }
  void close_in() { close(in_); }

 private:
  static void close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  int out_ = -1;
  int in_ = -1;
};

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void send(int fd, Tag tag, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string frame(1, tag);
  frame.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  write_all(fd, frame);
}

// The first exit handler to run in the child, hence the last one: those of the parent must not run
// twice.
void leave_at_once(int status, void* verdict) {
  std::fflush(stdout);  // the child's own words; what the parent had left there was purged
  send(*static_cast<const int*>(verdict), kExit, "");
  ::_exit(status);
}

void become_harmless(int output, const int* verdict) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // Handlers of the parent (a test framework's, a checkpoint on SIGTERM) would speak for the wrong
  // process.
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // What the parent had not printed yet is the parent's to print.
  __fpurge(stdout);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::on_exit(leave_at_once, const_cast<int*>(verdict));
}

[[noreturn]] void run_child(const std::function<std::string(const SayDoing&)>& work, int verdict,
                            int output) {
  become_harmless(output, &verdict);
  try {
    const std::string result = work([&](std::string_view doing) { send(verdict, kDoing, doing); });
    send(verdict, kResult, result);
    ::_exit(0);
  } catch (const std::exception& e) {
    write_all(STDERR_FILENO, e.what());
  } catch (...) {
    write_all(STDERR_FILENO, "an exception of unknown type");
  }
  ::_exit(EXIT_FAILURE);
}

// Reads what is there; false at the end of the pipe.
bool drain(int fd, std::string& into) {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got > 0)
      into.append(buffer.data(), static_cast<std::size_t>(got));
    else if (got == 0)
      return false;
    else if (errno != EINTR)
      return true;
  }
}

void take_frames(std::string_view frames, ChildOutcome& outcome) {
  uint32_t size = 0;
  constexpr std::size_t kHead = 1 + sizeof size;
  while (frames.size() >= kHead) {
    std::memcpy(&size, frames.data() + 1, sizeof size);
    if (frames.size() - kHead < size) return;
    const std::string text(frames.substr(kHead, size));
    if (frames[0] == kDoing) outcome.doing = text;
    if (frames[0] == kResult) outcome.result = text;
    if (frames[0] == kExit) outcome.called_exit = true;
    frames.remove_prefix(kHead + size);
  }
}

// Waits for the child and reads its pipes. A grandchild may hold them open, so their end is no
// sign; the child's is.
int watch(pid_t child, std::array<pollfd, 2> pipes, Clock::time_point deadline, std::string& frames,
          ChildOutcome& outcome) {
  std::array<std::string*, 2> into = {&frames, &outcome.output};
  for (;;) {
    const bool closed = pipes[0].fd < 0 && pipes[1].fd < 0;
    ::poll(pipes.data(), pipes.size(), closed ? 1 : 20);
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == 0 && Clock::now() >= deadline) {
      outcome.timed_out = true;
      ::kill(-child, SIGKILL);
      ::kill(child, SIGKILL);  // it may not have reached setpgid()
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
    }
    for (std::size_t i = 0; i < pipes.size(); ++i)
      if (pipes[i].fd >= 0 && !drain(pipes[i].fd, *into[i])) pipes[i].fd = -1;
    if (outcome.output.size() > 2 * kKeptOutput)
      outcome.output.erase(0, outcome.output.size() - kKeptOutput);
    if (ended != 0 || outcome.timed_out) return status;
  }
}

}  // namespace

ChildOutcome run_in_child(const std::function<std::string(const SayDoing&)>& work,
                          milliseconds timeout) {
  Pipe verdict, output;
  const pid_t child = ::fork();
  require(child >= 0, ErrorCode::internal, "fork: ", std::strerror(errno));
  if (child == 0) run_child(work, verdict.in(), output.in());
  verdict.close_in();
  output.close_in();
  std::array<pollfd, 2> pipes = {pollfd{verdict.out(), POLLIN, 0}, pollfd{output.out(), POLLIN, 0}};
  for (const pollfd& p : pipes) ::fcntl(p.fd, F_SETFL, O_NONBLOCK);

  ChildOutcome outcome;
  std::string frames;
  const int status = watch(child, pipes, Clock::now() + timeout, frames, outcome);
  ::kill(-child, SIGKILL);  // what it may have started itself
  take_frames(frames, outcome);
  if (outcome.timed_out) outcome.result.reset();
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

std::string ChildOutcome::how_it_ended() const {
  std::string text;
  if (timed_out)
    text = "no end";
  else if (signal != 0)
    text = fmt::format("SIG{} ({})", sigabbrev_np(signal) ? sigabbrev_np(signal) : "?",
                       sigdescr_np(signal) ? sigdescr_np(signal) : "unknown");
  else
    text = fmt::format("exit code {}{}", exit_code, called_exit ? " (exit() was called)" : "");
  if (!doing.empty()) text += " while " + doing;
  std::string printed = output.substr(output.size() - std::min(output.size(), kKeptOutput));
  while (!printed.empty() && printed.back() == '\n') printed.pop_back();
  if (!printed.empty())
    text += "; it printed:\n    " + (is_plain_text(printed) ? printed : std::string("(no text)"));
  return text;
}

PluginRefused ChildOutcome::refusal(std::string_view what, milliseconds timeout) const {
  if (timed_out)
    return {PluginErrorCode::timed_out,
            fmt::format("a plugin that survives {} within {:g} s", what, timeout.count() / 1e3),
            how_it_ended()};
  return {PluginErrorCode::crashed, fmt::format("a plugin that survives {}", what), how_it_ended()};
}

}  // namespace gh::host
