#include "study/running_program.hpp"

#include "files/file_write.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace gh::host {
namespace {

constexpr int kNotStarted = 127;  // as shells say

// An environment is "NAME=value" each.
std::vector<std::string> with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool changed = false;
    for (const auto& [name, value] : changes)
      changed = changed || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
    if (!changed) out.emplace_back(text);
  }
  for (const auto& [name, value] : changes) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

cpu_set_t set_of(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  return set;
}

// All that happens between fork() and exec(), where hardly anything is allowed.
struct Entry {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int log, nothing;
  const cpu_set_t* cores;  // null: leave them
  pid_t parent;

  [[noreturn]] void go() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kNotStarted);  // it died before that
    ::setpgid(0, 0);
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) ::sigaction(number, &usual, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (cores) ::sched_setaffinity(0, sizeof *cores, cores);
    if (::dup2(nothing, 0) == 0 && ::dup2(log, 1) == 1 && ::dup2(log, 2) == 2)
      ::execve(program, arguments, environment);
    constexpr std::string_view kMessage = "ghhost: the program of a run cannot be started\n";
    (void)!::write(log, kMessage.data(), kMessage.size());
    ::_exit(kNotStarted);
  }
};

// While a child is made, no signal may reach it in between: it would end in a handler of this
// process and be lost.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

RunningProgram::RunningProgram(const Start& start) {
  std::vector<std::string> arguments = start.arguments, environment = with(start.environment);
  const std::vector<char*> argument_list = pointers(arguments),
                           environment_list = pointers(environment);
  const FileDescriptor log(
      ::open(start.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.get() < 0) fail_io("cannot open", start.log);
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const cpu_set_t cores = set_of(start.cores);
  const Entry entry{.program = start.program.c_str(),
                    .arguments = argument_list.data(),
                    .environment = environment_list.data(),
                    .log = log.get(),
                    .nothing = nothing.get(),
                    .cores = start.cores.empty() ? nullptr : &cores,
                    .parent = ::getpid()};
  {
    const NoSignals meanwhile;
    process_ = ::fork();
    if (process_ == 0) entry.go();
  }
  require(process_ > 0, ErrorCode::io, "cannot start a process: ", std::strerror(errno));
  end_fd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
}

RunningProgram::~RunningProgram() {
  if (end_) return;
  send(SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<ProcessEnd> RunningProgram::ended() {
  int status = 0;
  if (!end_ && ::waitpid(process_, &status, WNOHANG) == process_)
    end_ = WIFSIGNALED(status) ? ProcessEnd{.signal = WTERMSIG(status)}
                               : ProcessEnd{.code = WEXITSTATUS(status)};
  return end_;
}

void RunningProgram::send(int signal) const {
  if (!end_) ::kill(process_, signal);
}

}  // namespace gh::host
