// Pages and tables for people, made from run directories. Each page is one file that needs no
// network, no scripts and nothing beside it.
#pragma once

#include "report/run_record.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace gh::host {

// Writes <run_directory>/report.html, all of it or nothing: a reader never sees half a page. Works
// at any time of a run. Throws what load_run() throws, and gh::Error io when the file cannot be
// written.
void write_report(const std::filesystem::path& run_directory);

// Writes one page to `out` with several runs side by side: what differs in their recipes, a column
// per run for the metrics at the end, pictures of the same name together, losses in one plot.
// Throws as write_report(), and gh::Error invalid_param when there are no runs.
void write_comparison(std::span<const std::filesystem::path> runs,
                      const std::filesystem::path& out);

// The pages themselves.
std::string report_html(const RunRecord& run);
std::string comparison_html(std::span<const RunRecord> runs);

// Markdown for a terminal: state, an aligned table of metrics with a column per moment for each
// evaluator, and their definitions. Ends with a newline.
std::string summary_text(const RunRecord& run);

}  // namespace gh::host
