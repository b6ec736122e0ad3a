// What a run ran on, for environment.json and `ghhost version`.
#pragma once

#include <nlohmann/json.hpp>

namespace gh::host {

// Versions of program, SDK, LibTorch and compiler; processor, how compute threads wait, system.
nlohmann::ordered_json describe_environment();

}  // namespace gh::host
