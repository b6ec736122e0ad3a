// Runs a function in a forked child, so that whatever it does to its process is an outcome here:
// signals, exit(), endless loops.
#pragma once

#include "plugins/plugin_error.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gh::host {

struct ChildOutcome {
  std::optional<std::string> result;  // what the function returned; absent: it did not get that far
  std::string doing;                  // the last thing it said it was doing
  bool timed_out = false;             // and was killed
  bool called_exit = false;           // exit(), not _exit()
  int signal = 0;                     // that ended it, or 0
  int exit_code = 0;
  std::string output;  // the end of what it printed

  // "SIGSEGV (Segmentation fault)", "exit code 3 (exit() was called)", … with what it printed.
  std::string how_it_ended() const;
  // crashed or timed_out, for an outcome without result. `doing` completes "a plugin that survives
  // …".
  PluginRefused refusal(std::string_view doing, std::chrono::milliseconds timeout) const;
};

using SayDoing = std::function<void(std::string_view doing)>;

// `work` runs in the child and must not rely on threads of the parent: no parallel LibTorch
// operator may be under way. The child prints nowhere, flushes none of the parent's buffers, runs
// none of its exit handlers and leaves no core file. Throws gh::Error (internal) when no process
// can be made. Main thread.
ChildOutcome run_in_child(const std::function<std::string(const SayDoing&)>& work,
                          std::chrono::milliseconds timeout);

}  // namespace gh::host
