// A study on a terminal, and for programs.
#pragma once

#include "report/study_summary.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>

namespace gh::host {

// How many runs are in which state, how far all are, which ones run, and what failed and why. Of
// each list no more than `most` lines.
std::string study_text(const StudySummary& study, std::size_t most = 20);

nlohmann::ordered_json status_json(const StudySummary& study);

}  // namespace gh::host
