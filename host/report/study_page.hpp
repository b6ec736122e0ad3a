// A study as a page: how far it is, what came out, arms over each other. One file that needs no
// network and nothing beside it; a small script sorts, filters and chooses what is drawn, and
// without it everything can be read. While the study runs the page reads itself anew.
#pragma once

#include "report/study_results.hpp"
#include "report/study_summary.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace gh::host {

// Writes the page, all of it or nothing. Reads the runs' directories, at any time of a study; what
// cannot be read is said on the page. Links to the runs' reports are relative to the page. Throws
// gh::Error io when the file cannot be written.
void write_study_page(const StudySummary& study, const std::filesystem::path& page);

// The page itself, for a file in `folder`; `runs` are load_study_runs() with curves.
std::string study_html(const StudySummary& study, std::span<const RunRecord> runs,
                       const std::filesystem::path& folder);

// Its parts (study_page_table.cpp): a table per evaluator that can be sorted, what to know about
// the numbers, and the differences to the baseline with intervals, folded.
std::string study_page_table(const StudySummary& study, const StudyResults& results,
                             const std::filesystem::path& folder);

// What only this page has (study_look.cpp).
std::string_view study_style();
std::string_view study_script();

}  // namespace gh::host
