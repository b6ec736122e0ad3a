// One process at a time in a run directory.
//
// The lock is flock() on DIR/.lock: the system gives it back however its holder ends. Some network
// file systems know no flock(); there, DIR/.owner names machine and process of the holder. One left
// behind by a process of this machine that is gone is taken over; of one on another machine nobody
// here can know, so it is refused until somebody removes the file.
#pragma once

#include "files/file_descriptor.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace gh::host {

class RunLock {
 public:
  // flock(), or a stand-in for a file system that has none.
  using Flock = std::function<int(int fd, int operation)>;

  RunLock() = default;  // holds nothing
  // `directory` exists. gh::Error (io) saying who holds it where that is known, or what cannot be
  // done.
  explicit RunLock(const std::filesystem::path& directory);
  RunLock(const std::filesystem::path& directory, const Flock& flock);
  ~RunLock();
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;

  // What is not as it should be; empty: nothing.
  const std::string& warning() const { return warning_; }

  // Whether a directory has been locked ever, and so holds a run or the beginning of one.
  static bool has_been_in(const std::filesystem::path& directory);
  // Why flock() cannot be used in a directory; empty: it can.
  static std::string trouble_in(const std::filesystem::path& directory);
  // Removes DIR/.owner, for somebody who knows otherwise that its process is gone.
  static void forget_owner(const std::filesystem::path& directory);
  // Whether `name` is one of the files of a lock.
  static bool is_own(const std::filesystem::path& name);

 private:
  FileDescriptor file_;
  std::filesystem::path owner_;  // to be removed at the end; empty: none
  std::string warning_;
};

}  // namespace gh::host
