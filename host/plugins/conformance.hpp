// Does a component keep the contract of its interface? Cheap checks with small random inputs, for
// `plugins check`; docs/conformance.md lists them. They run plugin code in this process: call
// through inspect_in_child() unless the process may be lost.
#pragma once

#include "plugins/registry.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

struct ConformanceOptions {
  std::vector<std::string>* remarks = nullptr;       // what could not be checked and why
  std::vector<std::string>* tried = nullptr;         // what was, a line for each component
  const Recipe* recipe = nullptr;                    // parameters of the components that it names
  std::function<void(std::string_view)> doing = {};  // told before each part
  std::set<std::string> without = {};                // components that are left out, "kind/id"
};

// What each component does against its contract, each thing once: "allocator/x: assign: expected …,
// found …. Likely: …". Empty: nothing was found. `plugin` must be loaded in `registry`.
std::vector<std::string> check_conformance(Registry& registry, const LoadedPlugin& plugin,
                                           const ConformanceOptions& options = {});

}  // namespace gh::host
