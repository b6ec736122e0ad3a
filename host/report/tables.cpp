#include "report/tables.hpp"

#include "report/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace gh::host {
namespace {

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
struct TableSeries {
  const ResultRecord* first;
  std::vector<std::pair<const ResultRecord*, const TableRecord*>> at;
};

std::vector<TableSeries> table_series(const RunRecord& run) {
  std::vector<TableSeries> all;
  for (const ResultRecord& result : run.results)
    for (const TableRecord& table : result.tables) {
      const auto it = std::find_if(all.begin(), all.end(), [&](const TableSeries& s) {
        return s.first->evaluator == result.evaluator && s.first->slot == result.slot &&
               s.at.front().second->name == table.name;
      });
      if (it == all.end()) {
        all.push_back({&result, {{&result, &table}}});
      } else {
        it->at.emplace_back(&result, &table);
      }
    }
  return all;
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

std::string metric_table(const MetricGroup& group, std::span<const Column> columns) {
  std::string out = "<div class=\"scroll\"><table class=\"metrics\">\n<thead><tr><th>";
  out += escape_html(group.evaluator) + "</th>";
  for (const Column& column : columns)
    out += fmt::format("<th class=\"n\">{}<small>{}</small></th>", escape_html(column.heading),
                       escape_html(column.detail));
  out += "</tr></thead>\n<tbody>\n";
  for (const MetricRow& row : group.rows) {
    out += fmt::format("<tr><th scope=\"row\"><code>{}</code></th>", escape_html(row.name));
    for (const std::string& number : format_numbers(row.values))
      out += fmt::format("<td class=\"n\">{}</td>", number);
    // The definition has a line of its own under the number, or a phone would show it and no
    // numbers.
    out += fmt::format("</tr>\n<tr><td class=\"definition\" colspan=\"{}\">", columns.size() + 1);
    if (row.definitions.size() > 1) out += "<p class=\"warn\">Definitions differ:</p>";
    for (const std::string& definition : row.definitions)
      out += fmt::format("<p>{}</p>", escape_html(definition));
    out += "</td></tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string run_tables(const RunRecord& run) {
  std::string out;
  for (TableSeries& s : table_series(run)) {
    const TableRecord& first = *s.at.front().second;
    const bool still = s.at.size() > 1 && std::all_of(s.at.begin(), s.at.end(), [&](auto& at) {
                         return same_content(*at.second, first);
                       });
    if (still) s.at.resize(1);
    out += fmt::format("<h3>{} <span>{}</span></h3>\n", escape_html(first.name),
                       escape_html(s.first->evaluator));
    if (!first.caption.empty())
      out += fmt::format("<p class=\"caption\">{}</p>\n", escape_html(first.caption));
    out += "<div class=\"tables\">\n";
    for (const auto& [result, table] : s.at) {
      const std::string& label = result->label.empty() ? result->moment : result->label;
      out += "<figure>";
      if (!still)
        out += fmt::format("<header><b>{}</b> <span>{}</span></header>\n", escape_html(label),
                           epoch_beside(label, result->epoch));
      out += html_table(table->columns, table->rows) + "</figure>\n";
    }
    out += "</div>\n";
  }
  return out;
}

}  // namespace gh::host
