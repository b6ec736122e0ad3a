#include "report/tables.hpp"

#include "report/format.hpp"
#include "report/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace gh::host {
namespace {

constexpr std::size_t kLongTable = 12;  // rows that still let the page be read

// "12", "-3.5e-4", "48 %", "91°" and the like.
bool looks_numeric(const std::string& cell) {
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  return end != cell.c_str() && display_width(end) <= 2;
}

std::vector<bool> numeric_columns(std::size_t columns,
                                  std::span<const std::vector<std::string>> rows) {
  std::vector<bool> numeric(columns, true), any(columns, false);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < std::min(columns, row.size()); ++i) {
      if (row[i].empty() || row[i] == "—") continue;
      any[i] = true;
      if (!looks_numeric(row[i])) numeric[i] = false;
    }
  for (std::size_t i = 0; i < columns; ++i) numeric[i] = numeric[i] && any[i];
  return numeric;
}

bool same_content(const TableRecord& a, const TableRecord& b) {
  return a.columns == b.columns && a.rows == b.rows;
}

// One table at successive moments.
using TableSeries = std::vector<std::pair<const ResultRecord*, const TableRecord*>>;

std::vector<TableSeries> table_series(const EvaluatorSeries& series) {
  std::vector<TableSeries> all;
  for (const ResultRecord* result : series.shown())
    for (const TableRecord& table : result->tables) {
      if (table.name == "groups") continue;  // stands at the top of the page
      auto it = std::find_if(all.begin(), all.end(), [&](const TableSeries& s) {
        return s.front().second->name == table.name;
      });
      if (it == all.end()) it = all.emplace(it);
      it->emplace_back(result, &table);
    }
  return all;
}

std::string captioned(const TableRecord& table) {
  std::string out;
  if (!table.caption.empty())
    out = fmt::format("<p class=\"caption\">{}</p>\n", escape_html(table.caption));
  return out + html_table(table.columns, table.rows);
}

// A thousand classes are there for those who look for one of them.
std::string folded_if_long(const TableRecord& table, const std::string& heading) {
  if (table.rows.size() > kLongTable)
    return html_folded(fmt::format("{} ({} rows)", heading, table.rows.size()), captioned(table),
                       Fold::bulky);
  return fmt::format("<h3>{}</h3>\n", escape_html(heading)) + captioned(table);
}

std::string group_heading(const GroupRow& row) {
  std::string out = "<tr><th></th>";
  for (const std::string& column : row.columns)
    out += fmt::format("<th class=\"n\">{}</th>", escape_html(column_heading(column)));
  return out + "</tr>\n";
}

std::string group_lines(std::span<const GroupLine> lines, std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [heading, detail, row] = lines[i];
    if (i == 0 || row.columns != lines[i - 1].row.columns) {
      if (i > 0) out += "</tbody></table></div>\n";
      out += fmt::format(
          "<div class=\"scroll\"><table class=\"{}\" "
          "style=\"--n:{}\">\n<thead>{}</thead>\n<tbody>\n",
          name, row.columns.size(), group_heading(row));
    }
    out += fmt::format("<tr><th scope=\"row\">{}<small>{}</small></th>", escape_html(heading),
                       escape_html(detail));
    for (std::size_t c = 0; c < row.values.size(); ++c)
      out += fmt::format("<td class=\"n{}\">{}</td>",
                         row.columns[c] == "avg"   ? " avg"
                         : row.columns[c] == "std" ? " std"
                                                   : "",
                         format_percent(row.values[c]));
    out += "</tr>\n";
  }
  return out.empty() ? out : out + "</tbody></table></div>\n";
}

}  // namespace

std::string html_table(std::span<const std::string> columns,
                       std::span<const std::vector<std::string>> rows) {
  const std::vector<bool> numeric = numeric_columns(columns.size(), rows);
  const auto side = [&](std::size_t i) {
    return i < numeric.size() && numeric[i] ? " class=\"n\"" : "";
  };
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < columns.size(); ++i)
    out += fmt::format("<th{}>{}</th>", side(i), escape_html(columns[i]));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td{}>{}</td>", side(i), escape_html(row[i]));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string metric_table(const MetricGroup& group, std::span<const Column> columns,
                         Changes changes) {
  const bool change_column = changes == Changes::shown && columns.size() == 2;
  std::string out = "<div class=\"scroll\"><table class=\"metrics\">\n<thead><tr><th>";
  out += escape_html(group.evaluator) + "</th>";
  for (const Column& column : columns)
    out += fmt::format("<th class=\"n\">{}<small>{}</small></th>", escape_html(column.heading),
                       escape_html(column.detail));
  if (change_column) out += "<th class=\"n\">difference</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const MetricRow& row : group.rows) {
    out += fmt::format("<tr><th scope=\"row\"><code>{}</code></th>", escape_html(row.name));
    const std::vector<std::string> numbers = format_numbers(row.values);
    for (const std::string& number : numbers) out += fmt::format("<td class=\"n\">{}</td>", number);
    if (change_column)
      out += fmt::format("<td class=\"n\">{}</td>", format_change(change(row), numbers));
    // The definition has a line of its own under the number, or a phone would show it and no
    // numbers.
    out += fmt::format("</tr>\n<tr><td class=\"definition\" colspan=\"{}\">",
                       columns.size() + 1 + (change_column ? 1 : 0));
    if (row.definitions.size() > 1) out += "<p class=\"warn\">Definitions differ:</p>";
    for (const std::string& definition : row.definitions)
      out += fmt::format("<p>{}</p>", escape_html(definition));
    out += "</td></tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string group_table(std::span<const GroupLine> lines) {
  // What the columns mean, and for which lines.
  std::vector<std::pair<std::string, std::vector<std::string>>> definitions;
  for (const GroupLine& line : lines) {
    auto it = std::find_if(definitions.begin(), definitions.end(),
                           [&](auto& d) { return d.first == line.row.definition; });
    if (it == definitions.end()) it = definitions.insert(it, {line.row.definition, {}});
    if (std::find(it->second.begin(), it->second.end(), line.row.evaluator) == it->second.end())
      it->second.push_back(line.row.evaluator);
  }
  std::string out = group_lines(lines, "groups");
  for (const auto& [definition, evaluators] : definitions)
    out +=
        fmt::format("<p class=\"caption\">{}{}</p>\n",
                    definitions.size() == 1
                        ? ""
                        : fmt::format("<b>{}:</b> ",
                                      escape_html(fmt::format("{}", fmt::join(evaluators, ", ")))),
                    escape_html(definition));
  return out;
}

std::string compact_group_table(std::span<const GroupLine> lines) {
  return group_lines(lines, "groups compact");
}

std::string series_tables(const EvaluatorSeries& series) {
  std::string brief, folded;
  for (const TableSeries& tables : table_series(series)) {
    const TableRecord& table = *tables.back().second;
    (table.rows.size() > kLongTable ? folded : brief) += folded_if_long(table, table.name);
  }
  return brief + folded;
}

std::string earlier_tables(const EvaluatorSeries& series) {
  std::string out;
  for (const TableSeries& tables : table_series(series))
    for (auto it = tables.begin(); it + 1 < tables.end(); ++it) {
      if (same_content(*it->second, *tables.back().second)) continue;
      const std::string label = moment_label(*it->first);
      const std::string epoch = epoch_beside(label, it->first->epoch);
      out += folded_if_long(*it->second, fmt::format("{}, {}{}{}", it->second->name, label,
                                                     epoch.empty() ? "" : ", ", epoch));
    }
  return out;
}

std::string protocol(const EvaluatorSeries& series) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : series.params) rows.push_back({key, value});
  for (const auto& [split, fingerprint] : series.last().splits)
    rows.push_back({"data of split " + split, fingerprint});
  if (series.last().seconds > 0) rows.push_back({"took", format_duration(series.last().seconds)});
  if (rows.empty()) return {};
  const std::vector<std::string> columns = {"Parameter", "Value"};
  return html_folded("Protocol", html_table(columns, rows));
}

}  // namespace gh::host
