// The plan of a study on a terminal, and for programs.
#pragma once

#include "cli/plan_study.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace gh::host {

std::string plan_text(const PlannedStudy& study);
nlohmann::ordered_json plan_json(const PlannedStudy& study);

}  // namespace gh::host
