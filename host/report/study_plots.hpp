// The drawings of a study's page, as HTML.
#pragma once

#include "report/run_record.hpp"
#include "report/study_results.hpp"
#include "report/study_summary.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace gh::host {

// As many arms are drawn at first, in the order of the file; the page's script draws others.
inline constexpr std::size_t kDrawnAtFirst = 8;

// What an arm's row, its curves and its place in legends are found by: "a3".
std::string arm_id(std::size_t row);

// Arms over each other: metrics of evaluators over the epochs, then losses, then, of a small study,
// what else was logged; the mean over seeds, and a band from the least to the most of them. Of all
// runs that logged something, done or not. "" when nothing was.
std::string study_curves(const StudySummary& study, const StudyResults& results,
                         std::span<const RunRecord> runs);

// A part for each axis with two or more numbers: a drawing a column, a line for what the arms have
// beside this axis, mean ± standard deviation over seeds. "" when there is no such axis.
std::string study_sweeps(const StudyResults& results);

}  // namespace gh::host
