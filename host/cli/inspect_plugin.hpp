// What `ghhost plugins info` and `ghhost plugins check` have in common.
#pragma once

#include "cli/command.hpp"
#include "plugins/inspect.hpp"

#include <string>

namespace gh::host {

struct InspectArguments {
  std::string what;
  bool json = false;

  void declare(Options& options);
};

// Prints what a child process found out about a plugin; returns the exit code.
int inspect_plugin(const InspectArguments& arguments, const GlobalOptions& global,
                   InspectDepth depth);

}  // namespace gh::host
