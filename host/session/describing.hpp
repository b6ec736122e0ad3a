// What a run says of itself: files that describe it in its directory, and facts in an export.
#pragma once

#include "run/run_directory.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gh::host {

struct Assembly;

// recipe.toml, environment.json and data.json; `command` as typed.
void describe_run(Assembly& run, RunDirectory& directory, const std::vector<std::string>& command);

// As export_encoder() wants them, after `epochs` of training.
std::map<std::string, std::string> export_facts(const Assembly& run, int64_t epochs);

}  // namespace gh::host
