// A program started by a worker, which does not outlive it: where the worker dies, whatever the
// reason, the system kills it.
#pragma once

#include "files/file_descriptor.hpp"
#include "study/outcomes.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

class RunningProgram {
 public:
  struct Start {
    std::filesystem::path program;
    std::vector<std::string> arguments;                                 // the first: its name
    std::vector<std::pair<std::string, std::string>> environment = {};  // on top of the own
    std::vector<int> cores = {};     // it may run on; empty: those of this process
    std::filesystem::path log = {};  // what it prints is added; there is nothing for it to read
  };

  // In a process group of its own, so that a terminal's Ctrl-C reaches it through the worker only.
  // The thread that calls this has to live as long as the child: the system kills it with that.
  // Throws gh::Error (io).
  explicit RunningProgram(const Start& start);
  ~RunningProgram();  // kills it and waits
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // How it ended, once it has. Does not wait.
  std::optional<ProcessEnd> ended();
  void send(int signal) const;
  // Becomes readable when it ends; −1 where the system has no such thing.
  int end_fd() const { return end_fd_.get(); }

 private:
  pid_t process_ = -1;
  FileDescriptor end_fd_;
  std::optional<ProcessEnd> end_;
};

}  // namespace gh::host
