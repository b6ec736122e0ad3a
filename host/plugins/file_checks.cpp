#include "plugins/file_checks.hpp"

#include "files/file_descriptor.hpp"
#include "plugins/plugin_error.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Code = PluginErrorCode;

constexpr off_t kLargestFile = off_t{1} << 30;
constexpr int kMostLinks = 40;  // as the kernel has it

[[noreturn]] void refuse_unreadable(std::string_view found) {
  throw PluginRefused(Code::unreadable, "a regular file that can be read", found);
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Of the path itself, not of what a link leads to.
struct stat status_of(const fs::path& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      throw PluginRefused(Code::not_found, "a plugin file", "no such file");
    refuse_unreadable(std::strerror(errno));
  }
  return s;
}

bool is_private(gid_t group) {
  const passwd* user = ::getpwuid(::geteuid());
  const struct group* entry = ::getgrgid(group);
  if (user == nullptr || entry == nullptr || std::strcmp(user->pw_name, entry->gr_name) != 0)
    return false;
  for (char** member = entry->gr_mem; *member != nullptr; ++member)
    if (std::strcmp(*member, user->pw_name) != 0) return false;
  return true;
}

bool may_change_program(gid_t group) {
  std::error_code error;
  for (fs::path at = fs::read_symlink("/proc/self/exe", error); !error; at = at.parent_path()) {
    struct stat s {};
    if (::stat(at.c_str(), &s) == 0 && (s.st_mode & S_IWGRP) && s.st_gid == group) return true;
    if (!at.has_relative_path()) break;
  }
  return false;
}

void check_closed(const fs::path& path, const struct stat& s) {
  if (S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX)) return;
  const bool everybody = s.st_mode & S_IWOTH;
  if (!everybody && (!(s.st_mode & S_IWGRP) || is_trusted_group(s.st_gid))) return;
  throw PluginRefused(
      Code::unsafe_permissions, "a file and directories that only their owners can change",
      fmt::format("{} writable by {} (mode {:04o})", path.string(),
                  everybody ? std::string("everybody") : fmt::format("group {}", s.st_gid),
                  s.st_mode & 07777),
      fmt::format("chmod {}-w {}", everybody ? "o" : "g", path.string()));
}

void check_owner(const fs::path& path, uid_t owner) {
  if (is_trusted(owner)) return;
  throw PluginRefused(
      Code::unsafe_permissions,
      "a file and links to it that belong to root, to you or to the owner of the program",
      fmt::format("{} of user {}", path.string(), owner),
      "Take a copy of your own if you trust it.");
}

// Links and directories between a path and the file it leads to.
class Walk {
 public:
  explicit Walk(const fs::path& absolute) {
    look_at("/");
    prepend(absolute.relative_path());
  }

  fs::path to_the_end() {
    while (!pending_.empty()) {
      const fs::path name = std::move(pending_.front());
      pending_.pop_front();
      if (name.empty() || name == ".") continue;
      if (name == "..")
        here_ = here_.parent_path();
      else
        enter(here_ / name);
    }
    return here_;
  }

 private:
  void prepend(const fs::path& path) {
    pending_.insert(pending_.begin(), path.begin(), path.end());
  }

  void look_at(const fs::path& directory) { check_closed(directory, status_of(directory)); }

  void enter(const fs::path& next) {
    const struct stat s = status_of(next);
    if (S_ISLNK(s.st_mode)) {
      if (++links_ > kMostLinks) refuse_unreadable(std::strerror(ELOOP));
      check_owner(next, s.st_uid);
      std::error_code error;
      const fs::path target = fs::read_symlink(next, error);
      if (error) refuse_unreadable(error.message());
      if (target.is_absolute()) here_ = "/";
      prepend(target.relative_path());
      return;
    }
    check_closed(next, s);
    if (!S_ISDIR(s.st_mode)) check_owner(next, s.st_uid);
    here_ = next;
  }

  fs::path here_ = "/";  // without links
  std::deque<fs::path> pending_;
  int links_ = 0;
};

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

bool is_trusted(uid_t owner) {
  if (owner == 0 || owner == ::geteuid()) return true;
  struct stat program {};
  return ::stat("/proc/self/exe", &program) == 0 && owner == program.st_uid;
}

bool is_trusted_group(gid_t group) {
  return group == 0 || is_private(group) || may_change_program(group);
}

fs::path follow_checked(const fs::path& absolute) { return Walk(absolute).to_the_end(); }

FileContent read_checked(const fs::path& file) {
  FileContent content;
  content.file = follow_checked(fs::absolute(file));
  // Without O_NONBLOCK a pipe with the name of a plugin would hang the program. A link that took
  // the file's place since is not followed.
  const FileDescriptor fd(
      ::open(content.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (fd.get() < 0) refuse_unreadable(std::strerror(errno));
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0) refuse_unreadable(std::strerror(errno));
  if (!S_ISREG(s.st_mode)) refuse_unreadable(kind_of(s.st_mode));
  check_closed(content.file, s);
  check_owner(content.file, s.st_uid);
  if (s.st_size > kLargestFile)
    refuse_unreadable(fmt::format("{} bytes, more than 1 GiB", s.st_size));
  content.bytes = read_all(fd.get(), s.st_size);
  content.sha256 =
      Digest()
          .add({reinterpret_cast<const uint8_t*>(content.bytes.data()), content.bytes.size()})
          .hex();
  return content;
}

}  // namespace gh::host
