#include "files/own_file.hpp"

#include "files/file_descriptor.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // a pipe is not waited for

bool leads_out(const fs::path& name) {
  return name.empty() || name.is_absolute() ||
         std::any_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".."; });
}

std::string read_all(int file, const fs::path& path) {
  std::string bytes;
  for (std::size_t done = 0;;) {
    bytes.resize(done + (std::size_t{1} << 16) + done / 2);
    const ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, ErrorCode::io, "cannot read ", path.string(), ": ", std::strerror(errno));
    done += static_cast<std::size_t>(got);
    if (got > 0) continue;
    bytes.resize(done);
    return bytes;
  }
}

}  // namespace

OwnFile read_own_file(const fs::path& directory, const fs::path& name) {
  if (leads_out(name)) return {{}, "is not inside the run directory"};
  FileDescriptor at(::open(directory.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  // Part by part, since only the last part of a name can be kept from being a link.
  int error = errno;
  for (auto part = name.begin(); at.get() >= 0 && part != name.end(); ++part) {
    FileDescriptor next(::openat(at.get(), part->c_str(), kFlags));
    error = errno;
    at = std::move(next);
  }
  if (at.get() < 0) {
    if (error == ENOENT || error == ENOTDIR) return {{}, "is missing"};
    if (error == ELOOP) return {{}, "is a link, which is not followed"};
    fail(ErrorCode::io, "cannot read ", (directory / name).string(), ": ", std::strerror(error));
  }
  struct stat status {};
  require(::fstat(at.get(), &status) == 0, ErrorCode::io, "cannot read ",
          (directory / name).string(), ": ", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return {{}, "is not a regular file"};
  return {read_all(at.get(), directory / name), ""};
}

}  // namespace gh::host
