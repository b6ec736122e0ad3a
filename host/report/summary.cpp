#include "report/report.hpp"

#include "report/format.hpp"
#include "report/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace gh::host {
namespace {

// One line without anything that moves a terminal's cursor or ends a Markdown cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return out;
}

using Rows = std::vector<std::vector<std::string>>;

std::string aligned(const Rows& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string gap(widths[i] - display_width(rows[r][i]), ' ');
      out += fmt::format("| {}{} ", i == 0 ? rows[r][i] : gap, i == 0 ? gap : rows[r][i]);
    }
    out += "|\n";
    if (r > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("|{:-<{}}{}", "", widths[i] + 1, i == 0 ? "-" : ":");
    out += "|\n";
  }
  return out;
}

std::string group_text(const MetricGroup& group) {
  Rows rows = {{cell(group.evaluator)}};
  for (const Moment& moment : group.moments) {
    const std::string epoch = epoch_beside(moment.label, moment.epoch);
    rows[0].push_back(cell(moment.label) + (epoch.empty() ? "" : fmt::format(" ({})", epoch)));
  }
  std::string definitions;
  for (const MetricRow& row : group.rows) {
    std::vector<std::string> line = format_numbers(row.values);
    line.insert(line.begin(), cell(row.name));
    rows.push_back(std::move(line));
    for (const std::string& definition : row.definitions)
      definitions += fmt::format("- {}: {}\n", cell(row.name), cell(definition));
  }
  if (definitions.empty()) return aligned(rows);
  return fmt::format("{}\n{}", aligned(rows), definitions);
}

}  // namespace

std::string summary_text(const RunRecord& run) {
  std::string out = fmt::format("# {}\n\n", cell(run.name));
  if (const std::string what = composition(run); !what.empty()) out += cell(what) + "\n";
  out += cell(run.status.state);
  if (run.status.epochs > 0)
    out += fmt::format(", epoch {} of {}", run.status.epoch, run.status.epochs);
  if (run.status.seconds > 0) out += fmt::format(", {}", format_duration(run.status.seconds));
  out += "\n";
  if (run.status.state != "finished" && !run.status.message.empty())
    out += fmt::format("\n{}\n", cell(run.status.message));
  for (const std::string& problem : run.problems)
    out += fmt::format("\nProblem: {}\n", cell(problem));
  for (const MetricGroup& group : metrics_by_moment(run))
    out += fmt::format("\n{}", group_text(group));
  return out;
}

}  // namespace gh::host
