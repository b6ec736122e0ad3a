#include "cli/ways_out.hpp"

#include "cli/exit_codes.hpp"
#include "run/last_words.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gh::host {
namespace {

// What nobody survives, and what nobody here waits for. SIGINT and SIGTERM are the trainer's.
constexpr std::array kFatal = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,  SIGABRT,
                               SIGSYS,  SIGQUIT, SIGHUP, SIGXCPU, SIGXFSZ};

// Handlers have no other way to reach the program.
volatile std::sig_atomic_t under_way = 0;
pid_t watched = 0;  // children inherit the handlers, but not the run
alignas(16) std::array<char, 1 << 16> signal_stack;

// A short text, put together without help of the library: this may be a signal handler.
class Reason {
 public:
  Reason& add(const char* text) {
    for (; *text != '\0' && size_ + 1 < text_.size(); ++text) text_[size_++] = *text;
    text_[size_] = '\0';
    return *this;
  }
  Reason& add(int number) {
    std::array<char, 12> digits{};
    std::size_t at = digits.size() - 1;
    unsigned rest = number < 0 ? 0u - static_cast<unsigned>(number) : static_cast<unsigned>(number);
    do digits[--at] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) digits[--at] = '-';
    return add(digits.data() + at);
  }
  const char* text() const { return text_.data(); }
  std::size_t size() const { return size_; }

 private:
  std::array<char, 200> text_{};
  std::size_t size_ = 0;
};

// False when the process may end as it likes.
bool is_unexpected() { return under_way != 0 && ::getpid() == watched; }

void tell(const Reason& reason) {
  under_way = 0;
  speak_last_words(reason.text());
  Reason line;
  line.add("ghhost: ").add(reason.text()).add("\n");
  (void)!::write(STDERR_FILENO, line.text(), line.size());
}

[[noreturn]] void end_now(int code) {
  for (;;) ::syscall(SYS_exit_group, code);
}

void on_exit_called(int code, void*) {
  if (!is_unexpected()) return;
  std::fflush(stdout);
  Reason reason;
  tell(reason.add("a plugin or library called exit(").add(code).add(")"));
  end_now(kInternal);
}

void on_quick_exit() {
  if (!is_unexpected()) return;
  Reason reason;
  tell(reason.add("a plugin or library called quick_exit()"));
  end_now(kInternal);
}

void on_fatal_signal(int number) {
  if (is_unexpected()) {
    const char* name = sigabbrev_np(number);
    Reason reason;
    tell(reason.add("ended by SIG").add(name != nullptr ? name : "?"));
  }
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

void watch_ways_out() {
  watched = ::getpid();
  ::on_exit(on_exit_called, nullptr);
  std::at_quick_exit(on_quick_exit);
  const stack_t stack{.ss_sp = signal_stack.data(), .ss_flags = 0, .ss_size = signal_stack.size()};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int number : kFatal) {
    struct sigaction before {};
    // Who started the program may have asked to ignore it (nohup).
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(number, &action, nullptr);
  }
  under_way = 1;
}

int leave(int code) {
  under_way = 0;
  return code;
}

}  // namespace gh::host

// The dynamic linker finds these before the C library's, which runs none of the handlers above.
// What the C library itself calls is not redirected, and neither is a system call made by hand. The
// program's own code knows what it does.
extern "C" {

extern const char __executable_start, etext;

[[noreturn]] static void leave_as(const char* call, int code, const void* caller) {
  using namespace gh::host;
  const bool ours = caller >= &__executable_start && caller < &etext;
  if (!ours && is_unexpected()) {
    Reason reason;
    tell(reason.add("a plugin or library called ").add(call).add("(").add(code).add(")"));
    code = kInternal;
  }
  end_now(code);
}

void _exit(int code) { leave_as("_exit", code, __builtin_return_address(0)); }
void _Exit(int code) { leave_as("_Exit", code, __builtin_return_address(0)); }

}  // extern "C"
