// A file that stays open and is read piece by piece. It is not mapped: where a mapped file is made
// shorter, the next look at it ends the process. Any thread.
#pragma once

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

class RecordFile {
 public:
  // Throws as gh::open_regular_file().
  explicit RecordFile(std::string path)
      : path_(std::move(path)), file_(gh::open_regular_file(path_)) {
    struct stat status {};
    if (::fstat(file_, &status) != 0) fail_with(errno);
    size_ = static_cast<std::size_t>(status.st_size);
  }
  ~RecordFile() {
    if (file_ >= 0) ::close(file_);
  }
  RecordFile(RecordFile&& other) noexcept
      : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}
  RecordFile& operator=(RecordFile&&) = delete;

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }  // when it was opened

  // Fills `out` from byte `offset` on. Throws ErrorCode::io when the file ends before that.
  void read(std::size_t offset, std::span<uint8_t> out) const {
    while (!out.empty()) {
      const ssize_t got = ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with(errno);
      gh::require(got > 0, gh::ErrorCode::io, path_, " ends at byte ", offset, " of ", size_,
                  ": it was made shorter after it had been opened; put it back and run again");
      offset += static_cast<std::size_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }

 private:
  [[noreturn]] void fail_with(int problem) const {
    gh::fail(gh::ErrorCode::io, path_, " cannot be read: ", std::strerror(problem));
  }

  std::string path_;
  int file_;
  std::size_t size_ = 0;
};
