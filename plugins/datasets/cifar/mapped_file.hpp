// A file mapped read-only; unmapped with the object. Any thread.
#pragma once

#include "gh/error.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

class MappedFile {
 public:
  // Throws ErrorCode::io with the system's reason.
  explicit MappedFile(std::string path) : path_(std::move(path)) {
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail_with(errno);
    struct stat status {};
    int problem = ::fstat(file, &status) == 0 ? 0 : errno;
    if (problem == 0 && status.st_size > 0) {  // nothing can be mapped from an empty file
      size_ = static_cast<std::size_t>(status.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (data_ == MAP_FAILED) problem = errno;
    }
    ::close(file);  // the mapping stays
    if (problem != 0) fail_with(problem);
    if (data_) ::madvise(data_, size_, MADV_WILLNEED);
  }
  ~MappedFile() {
    if (data_) ::munmap(data_, size_);
  }
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

 private:
  [[noreturn]] void fail_with(int problem) const {
    gh::fail(gh::ErrorCode::io, path_, " cannot be read: ", std::strerror(problem));
  }

  std::string path_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};
