#include "files/file_write.hpp"

#include "files/file_descriptor.hpp"
#include "files/process_mark.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

void write_all(int fd, std::string_view content, const fs::path& file) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io("cannot write", file);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
}

void write_by_way_of(const fs::path& temporary, const fs::path& file, std::string_view content,
                     bool synced) {
  try {
    const FileDescriptor out(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (out.get() < 0) fail_io("cannot create", temporary);
    write_all(out.get(), content, temporary);
    if (synced && ::fsync(out.get()) != 0) fail_io("cannot sync", temporary);
    if (::rename(temporary.c_str(), file.c_str()) != 0) fail_io("cannot replace", file);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (synced) sync_path(file.parent_path());
}

}  // namespace

void fail_io(std::string_view what, const fs::path& file) {
  const int error = errno;
  fail(ErrorCode::io, what, " ", file.string(), ": ", std::strerror(error),
       error == ENOSPC ? "; free some space and run again" : "");
}

void sync_path(const fs::path& path) {
  const FileDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.get() >= 0) ::fsync(opened.get());
}

void write_file_atomically(const fs::path& file, std::string_view content, Durability durability) {
  fs::path temporary = file;
  temporary += ".tmp";
  write_by_way_of(temporary, file, content, durability == Durability::synced);
}

void write_shared_file(const fs::path& file, std::string_view content, Durability durability) {
  std::string own = ".";
  own.append(machine_name()).append("-").append(std::to_string(::getpid()));
  own.append(".").append(file.filename()).append(".tmp");
  write_by_way_of(file.parent_path() / own, file, content, durability == Durability::synced);
}

}  // namespace gh::host
