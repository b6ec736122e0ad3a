#include "plugins/file_checks.hpp"

#include "plugins/file_descriptor.hpp"
#include "plugins/plugin_error.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Code = PluginErrorCode;

constexpr off_t kLargestFile = off_t{1} << 30;

FileIdentity identity_of(const struct stat& s) {
  const auto ns = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {s.st_dev, s.st_ino, s.st_size, ns(s.st_mtim), ns(s.st_ctim)};
}

[[noreturn]] void refuse_unreadable(std::string_view found) {
  throw PluginRefused(Code::unreadable, "a regular file that can be read", found);
}

struct stat status_of(const fs::path& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      throw PluginRefused(Code::not_found, "a plugin file", "no such file");
    refuse_unreadable(std::strerror(errno));
  }
  return s;
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::vector<std::byte> read_all(int fd, off_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_unreadable(std::strerror(errno));
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

}  // namespace

void check_permissions(const fs::path& absolute_file) {
  const auto refuse = [](const fs::path& path, mode_t mode) {
    throw PluginRefused(
        Code::unsafe_permissions, "a file and directories that only their owners can change",
        fmt::format("{} writable by everybody (mode {:04o})", path.string(), mode & 07777),
        fmt::format("chmod o-w {}", path.string()));
  };
  const mode_t mode = status_of(absolute_file).st_mode;
  if (!S_ISDIR(mode) && (mode & S_IWOTH)) refuse(absolute_file, mode);
  for (fs::path dir = absolute_file.parent_path();; dir = dir.parent_path()) {
    const mode_t above = status_of(dir).st_mode;
    if ((above & S_IWOTH) && !(above & S_ISVTX)) refuse(dir, above);
    if (dir == dir.parent_path()) return;
  }
}

FileContent read_checked(const fs::path& file) {
  const fs::path named = fs::absolute(file).lexically_normal();
  status_of(named);
  std::error_code error;
  FileContent content;
  content.file = fs::canonical(named, error);
  if (error) refuse_unreadable(error.message());
  // Both the link and what it points to can be swapped.
  check_permissions(named);
  check_permissions(content.file);

  // Without O_NONBLOCK a pipe with the name of a plugin would hang the program.
  const FileDescriptor fd(::open(content.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) refuse_unreadable(std::strerror(errno));
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0) refuse_unreadable(std::strerror(errno));
  if (!S_ISREG(s.st_mode)) refuse_unreadable(kind_of(s.st_mode));
  if (s.st_size > kLargestFile)
    refuse_unreadable(fmt::format("{} bytes, more than 1 GiB", s.st_size));
  content.identity = identity_of(s);
  content.bytes = read_all(fd.get(), s.st_size);
  content.sha256 =
      Digest()
          .add({reinterpret_cast<const uint8_t*>(content.bytes.data()), content.bytes.size()})
          .hex();
  return content;
}

void check_unchanged(const FileContent& content) {
  struct stat s {};
  if (::stat(content.file.c_str(), &s) != 0)
    throw PluginRefused(Code::file_changed, "the file that was checked", "no file any more");
  if (identity_of(s) == content.identity) return;
  throw PluginRefused(Code::file_changed,
                      fmt::format("the file that was checked ({} bytes, inode {})",
                                  content.identity.size, content.identity.inode),
                      fmt::format("another one ({} bytes, inode {})", s.st_size, s.st_ino),
                      "It was replaced while it was being loaded; start again.");
}

}  // namespace gh::host
