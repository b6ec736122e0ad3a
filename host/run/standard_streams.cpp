#include "run/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace gh::host {
namespace {

// Of the first write to standard output that failed. Output is the process's own, so this is too.
int output_error = 0;

void remember_failure() {
  if (output_error == 0) output_error = errno != 0 ? errno : EIO;
}

}  // namespace

void open_standard_streams() {
  // Opened the wrong way round, so that a result is not lost in silence; messages may be.
  constexpr int kMode[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      // The lowest free number is this one: those below it are open by now.
      (void)::open("/dev/null", kMode[fd]);
  std::signal(SIGPIPE, SIG_IGN);
}

void write_output(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) remember_failure();
}

void write_message(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stderr) != text.size()) std::clearerr(stderr);
}

std::string finish_output() {
  errno = 0;
  // Also what others printed there, such as the command line's help.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) remember_failure();
  if (output_error == 0) return "";
  if (output_error == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  return std::strerror(output_error);
}

}  // namespace gh::host
