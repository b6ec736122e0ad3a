// What a run ran on, for environment.json and `ghhost version`.
#pragma once

#include "plugins/registry.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gh::host {

// Versions of program, SDK, LibTorch and compiler; processor, how compute threads wait, system.
nlohmann::ordered_json describe_environment();

// Name, version, file, hash and components of every loaded plugin.
nlohmann::ordered_json describe_plugins(const std::vector<LoadedPlugin>& plugins);

}  // namespace gh::host
