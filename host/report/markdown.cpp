#include "report/markdown.hpp"

#include "report/format.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gh::host {

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '|' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(std::span<const std::vector<std::string>> rows,
                           std::size_t text_columns) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string gap(widths[i] - display_width(rows[r][i]), ' ');
      out += i < text_columns ? fmt::format("| {}{} ", rows[r][i], gap)
                              : fmt::format("| {}{} ", gap, rows[r][i]);
    }
    out += "|\n";
    if (r > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("|{:-<{}}{}", "", widths[i] + 1, i < text_columns ? "-" : ":");
    out += "|\n";
  }
  return out;
}

}  // namespace gh::host
