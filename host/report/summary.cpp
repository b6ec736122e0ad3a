#include "report/report.hpp"

#include "report/format.hpp"
#include "report/markdown.hpp"
#include "report/metrics.hpp"

#include <fmt/format.h>

#include <vector>

namespace gh::host {
namespace {

std::string group_text(const MetricGroup& group) {
  std::vector<std::vector<std::string>> rows = {{markdown_cell(group.evaluator)}};
  for (const ResultRecord* moment : group.columns) {
    const std::string label = moment_label(*moment), epoch = epoch_beside(label, moment->epoch);
    rows[0].push_back(markdown_cell(label) + (epoch.empty() ? "" : fmt::format(" ({})", epoch)));
  }
  std::string definitions;
  for (const MetricRow& row : group.rows) {
    std::vector<std::string> line = format_numbers(row.values);
    line.insert(line.begin(), markdown_cell(row.name));
    rows.push_back(std::move(line));
    for (const std::string& definition : row.definitions)
      definitions += fmt::format("- {}: {}\n", markdown_cell(row.name), markdown_cell(definition));
  }
  if (definitions.empty()) return markdown_table(rows);
  return fmt::format("{}\n{}", markdown_table(rows), definitions);
}

}  // namespace

std::string summary_text(const RunRecord& run) {
  std::string out = fmt::format("# {}\n\n", markdown_cell(run.name));
  if (const std::string what = composition(run); !what.empty()) out += markdown_cell(what) + "\n";
  out += markdown_cell(run.status.state);
  if (run.status.epochs > 0)
    out += fmt::format(", epoch {} of {}", run.status.epoch, run.status.epochs);
  if (run.status.seconds > 0) out += fmt::format(", {}", format_duration(run.status.seconds));
  out += "\n";
  if (run.status.state != "finished" && !run.status.message.empty())
    out += fmt::format("\n{}\n", markdown_cell(run.status.message));
  for (const std::string& failure : run.failures)
    out += fmt::format("\nEvaluation failed: {}\n", markdown_cell(failure));
  for (const std::string& problem : run.problems)
    out += fmt::format("\nProblem: {}\n", markdown_cell(problem));
  for (const MetricGroup& group : metrics_by_moment(run))
    out += fmt::format("\n{}", group_text(group));
  return out;
}

}  // namespace gh::host
