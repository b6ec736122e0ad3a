#include "report/report.hpp"

#include "files/file_write.hpp"
#include "report/class_changes.hpp"
#include "report/curves.hpp"
#include "report/differences.hpp"
#include "report/format.hpp"
#include "report/gallery.hpp"
#include "report/group_rows.hpp"
#include "report/metrics.hpp"
#include "report/page.hpp"
#include "report/tables.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <vector>

namespace gh::host {
namespace {

std::string overview(std::span<const RunRecord> runs, std::span<const std::string> labels) {
  std::string out =
      "<div class=\"scroll\"><table>\n<thead><tr><th>Run</th><th>State</th><th>What</th>"
      "<th class=\"n\">Epoch</th><th class=\"n\">Time</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StatusRecord& status = runs[i].status;
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{} of {}</td><td "
        "class=\"n\">{}</td></tr>\n",
        escape_html(labels[i]), state_badge(status.state), escape_html(composition(runs[i])),
        status.epoch, status.epochs, format_duration(status.seconds));
  }
  return out + "</tbody></table></div>\n";
}

// What an ablation is about, and what it should not be about.
std::string differences(std::span<const RunRecord> runs, std::span<const std::string> labels) {
  std::vector<std::string> columns = {""};
  columns.insert(columns.end(), labels.begin(), labels.end());
  std::string shown, folded;
  for (const DifferenceGroup& group : run_differences(runs)) {
    std::vector<std::vector<std::string>> rows;
    for (const DifferenceRow& row : group.rows) {
      rows.push_back({row.key});
      for (const std::string& value : row.values)
        rows.back().push_back(value.empty() ? "—" : value);
    }
    columns[0] = group.heading;
    // Where it ran and how it was called is rarely what is asked for.
    (group.id == "environment" || group.id == "neutral" ? folded : shown) +=
        html_table(columns, rows);
  }
  if (shown.empty()) shown = "<p>Recipes, data and plugins are the same.</p>\n";
  return shown + html_folded("Environment, and what has no effect on numbers", folded);
}

// Runs one below the other for each evaluator.
std::string by_group(std::span<const EvaluatorMatch> matches, std::span<const std::string> names,
                     std::span<const std::string> labels) {
  std::vector<GroupLine> lines;
  for (std::size_t m = 0; m < matches.size(); ++m)
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (const EvaluatorSeries* series = matches[m].of_run[i])
        if (auto row = group_row(series->last())) {
          row->evaluator = names[m];
          lines.push_back({labels[i], names[m], std::move(*row)});
        }
  return group_table(lines);
}

Section compared_evaluator(const EvaluatorMatch& match, const std::string& name,
                           std::span<const std::string> labels, Gallery& gallery) {
  const MetricGroup group = metrics_by_run(match, name);
  std::vector<Column> columns;
  for (std::size_t i = 0; i < labels.size(); ++i)
    columns.push_back({labels[i], group.columns[i]
                                      ? fmt::format("epoch {}", group.columns[i]->epoch)
                                      : std::string("—")});
  std::string content = html_notice(protocol_differences(match));
  content += class_changes(match, labels);
  content += compared_pictures(match, labels, gallery);
  if (!group.rows.empty())
    content += "<div class=\"even\">\n" + metric_table(group, columns, Changes::shown) + "</div>\n";
  return {name, "", content};
}

std::string problems(std::span<const RunRecord> runs, std::span<const std::string> labels) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const std::string& problem : runs[i].problems) lines.push_back(labels[i] + ": " + problem);
  return html_notice(lines);
}

}  // namespace

std::string comparison_html(std::span<const RunRecord> runs) {
  const std::vector<std::string> labels = run_labels(runs);
  const std::string title =
      fmt::format("Comparison of {} run{}", runs.size(), runs.size() == 1 ? "" : "s");
  std::vector<std::vector<EvaluatorSeries>> series;
  for (const RunRecord& run : runs) series.push_back(evaluator_series(run));
  const std::vector<EvaluatorMatch> matches = match_evaluators(series);
  const std::vector<std::string> names = match_labels(matches);
  Gallery gallery;
  std::vector<Section> sections = {{"Runs", "", overview(runs, labels)},
                                   {"By group of classes", "", by_group(matches, names, labels)},
                                   {"What differs", "", differences(runs, labels)}};
  for (std::size_t i = 0; i < matches.size(); ++i)
    sections.push_back(compared_evaluator(matches[i], names[i], labels, gallery));
  sections.push_back(
      {"Curves", "",
       compared_evaluation_curves(matches, names, labels) + compared_curves(runs, labels)});
  return html_page(title, fmt::format("<h1>{}</h1>\n", title) + problems(runs, labels) +
                              html_sections(sections));
}

void write_comparison(std::span<const std::filesystem::path> runs,
                      const std::filesystem::path& out) {
  require(!runs.empty(), ErrorCode::invalid_param, "a comparison needs at least one run directory");
  std::vector<RunRecord> records;
  for (const auto& directory : runs) records.push_back(load_run(directory));
  write_file_atomically(out, comparison_html(records));
}

}  // namespace gh::host
