#include "gh/regular_file.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gh {
inline namespace v1 {
namespace {

class Closing {
 public:
  explicit Closing(int fd) : fd_(fd) {}
  ~Closing() {
    if (fd_ >= 0) ::close(fd_);
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

[[noreturn]] void fail_with(const std::string& path, int problem) {
  if (problem == ENOENT || problem == ENOTDIR)
    fail(ErrorCode::missing_data, path, " is not there: ", std::strerror(problem));
  fail(ErrorCode::io, path, " cannot be read: ", std::strerror(problem));
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse(const std::string& path, mode_t mode) {
  fail(ErrorCode::io, path, " is ", kind_of(mode), "; expected a regular file");
}

}  // namespace

int open_regular_file(const std::string& path) {
  // Without O_NONBLOCK a pipe would be waited for here, and some devices too.
  Closing file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int problem = errno;
  struct stat status {};
  if (file.get() < 0) {  // a socket, for one, cannot be opened at all
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      refuse(path, status.st_mode);
    fail_with(path, problem);
  }
  if (::fstat(file.get(), &status) != 0) fail_with(path, errno);
  if (!S_ISREG(status.st_mode)) refuse(path, status.st_mode);
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) fail_with(path, errno);
  return file.release();
}

std::string read_regular_file(const std::string& path, std::size_t most) {
  constexpr std::size_t kAtOnce = std::size_t{8} << 20;
  const Closing file(open_regular_file(path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_with(path, errno);
  std::string bytes;
  // Read to the end and not to a size: some file systems say 0, and a file may grow.
  const auto size = static_cast<std::size_t>(status.st_size);
  bytes.resize(std::min(most, size + 1));
  std::size_t done = 0;
  while (done < most) {
    if (done == bytes.size()) bytes.resize(std::min(most, done + std::max(done, kAtOnce)));
    const ssize_t got =
        ::read(file.get(), bytes.data() + done, std::min(bytes.size() - done, kAtOnce));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with(path, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace v1
}  // namespace gh
