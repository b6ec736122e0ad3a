// Tables by group of classes as text, to be pasted into a paper or a pull request.
#pragma once

#include "report/group_rows.hpp"

#include <span>
#include <string>

namespace gh::host {

enum class TableStyle { markdown, latex };

// A table for each set of columns, a row per run and evaluator; where rows are means over seeds,
// "54.12 ± 0.30" and a column with the number of seeds. What was done and what the columns mean
// follows as a list (Markdown) or precedes as comments (LaTeX, which needs the package booktabs).
// An empty group is "—", in LaTeX "--". Ends with a newline; a sentence when there are no rows.
std::string paper_table(std::span<const GroupRow> rows, TableStyle style);

// The table of runs, with a row for each of them or for those that differ only in their seed.
// Throws as mean_group_rows().
enum class Seeds { listed, averaged };
std::string table_text(std::span<const RunRecord> runs, TableStyle style, Seeds seeds);

// Text in LaTeX: special characters escaped, one line.
std::string escape_latex(std::string_view text);

}  // namespace gh::host
