// What changed for each class between two runs.
#pragma once

#include "report/evaluator_series.hpp"

#include <span>
#include <string>

namespace gh::host {

// Accuracy of every class in the second run less that in the first, classes of the first run's
// groups in order of size, as a figure; "" where `match` has no table "classes" in both runs.
std::string class_changes(const EvaluatorMatch& match, std::span<const std::string> labels);

}  // namespace gh::host
