#include "report/paper_table.hpp"

#include "report/format.hpp"
#include "report/markdown.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gh::host {
namespace {

using Cells = std::vector<std::vector<std::string>>;

constexpr std::size_t kTextColumns = 2;  // run and evaluator

bool over_seeds(std::span<const GroupRow> rows) {
  return std::any_of(rows.begin(), rows.end(), [](auto& row) { return !row.spreads.empty(); });
}

std::string number(const GroupRow& row, std::size_t i, TableStyle style) {
  const bool latex = style == TableStyle::latex;
  if (!row.values[i]) return latex ? "--" : "—";
  const std::string mean = format_percent(row.values[i]);
  if (row.spreads.empty() || !row.spreads[i]) return mean;
  return fmt::format(fmt::runtime(latex ? "${} \\pm {}$" : "{} ± {}"), mean,
                     format_percent(row.spreads[i]));
}

Cells cells_of(std::span<const GroupRow> rows, TableStyle style) {
  const auto text = style == TableStyle::latex ? escape_latex : markdown_cell;
  const bool seeds = over_seeds(rows);
  Cells out = {{"Run", "Evaluator"}};
  for (const std::string& column : rows.front().columns)
    out[0].push_back(text(column_heading(column)));
  if (seeds) out[0].push_back("Seeds");
  for (const GroupRow& row : rows) {
    auto& line = out.emplace_back(std::vector<std::string>{text(row.run), text(row.evaluator)});
    for (std::size_t i = 0; i < row.values.size(); ++i) line.push_back(number(row, i, style));
    if (seeds) line.push_back(std::to_string(row.seeds));
  }
  return out;
}

// What was done, once for each evaluator, and what the columns mean, once for each meaning.
std::vector<std::string> notes_of(std::span<const GroupRow> rows) {
  std::vector<std::string> notes;
  const auto add = [&](const std::string& note) {
    if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(note);
  };
  for (const GroupRow& row : rows)
    if (!row.how.empty()) add(fmt::format("{}: {}, epoch {}", row.evaluator, row.how, row.epoch));
  for (const GroupRow& row : rows) add(row.definition);
  if (over_seeds(rows))
    add("Mean ± sample standard deviation (n − 1) over the seeds; Std is the mean of the runs' "
        "Std");
  return notes;
}

std::string markdown(std::span<const GroupRow> rows) {
  std::string out = markdown_table(cells_of(rows, TableStyle::markdown), kTextColumns) + "\n";
  for (const std::string& note : notes_of(rows)) out += fmt::format("- {}\n", markdown_cell(note));
  return out;
}

std::string latex(std::span<const GroupRow> rows) {
  const Cells cells = cells_of(rows, TableStyle::latex);
  std::string out;
  for (const std::string& note : notes_of(rows)) out += fmt::format("% {}\n", one_line(note));
  out += fmt::format("\\begin{{tabular}}{{ll{}}}\n\\toprule\n",
                     std::string(cells[0].size() - kTextColumns, 'r'));
  for (std::size_t r = 0; r < cells.size(); ++r) {
    out += fmt::format("{}", fmt::join(cells[r], " & "));
    out += r == 0 ? " \\\\\n\\midrule\n" : " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::string escape_latex(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (out.empty() && (c == '[' || c == '*')) out += "{}";  // \\ before it would take it
    switch (c) {
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        out += '\\';
        out += c;
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '\\':
        out += "\\textbackslash{}";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string paper_table(std::span<const GroupRow> rows, TableStyle style) {
  const bool in_latex = style == TableStyle::latex;
  if (rows.empty())
    return in_latex ? "% no evaluator left a table by group of classes\n"
                    : "No evaluator left a table by group of classes.\n";
  // Rows with other columns (deciles beside terciles) are a table of their own.
  std::vector<std::vector<GroupRow>> tables;
  for (const GroupRow& row : rows) {
    auto it = std::find_if(tables.begin(), tables.end(),
                           [&](auto& table) { return table.front().columns == row.columns; });
    if (it == tables.end()) it = tables.emplace(it);
    it->push_back(row);
  }
  std::string out;
  for (const auto& table : tables) {
    if (!out.empty()) out += '\n';
    out += in_latex ? latex(table) : markdown(table);
  }
  return out;
}

std::string table_text(std::span<const RunRecord> runs, TableStyle style, Seeds seeds) {
  if (seeds == Seeds::averaged) return paper_table(mean_group_rows(runs), style);
  const std::vector<std::string> labels = run_labels(runs);
  std::vector<GroupRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (GroupRow& row : group_rows(runs[i], labels[i])) rows.push_back(std::move(row));
  return paper_table(rows, style);
}

}  // namespace gh::host
