#include "report/report.hpp"

#include "report/curves.hpp"
#include "report/format.hpp"
#include "report/metrics.hpp"
#include "report/page.hpp"
#include "report/pictures.hpp"
#include "report/tables.hpp"
#include "run/run_directory.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace gh::host {
namespace {

// Names to tell the runs apart: the recipe's, with the directory where several recipes share one,
// and a number where that does not help either.
std::vector<std::string> labels_of(std::span<const RunRecord> runs) {
  const auto repeated = [](const std::vector<std::string>& all, const std::string& label) {
    return std::count(all.begin(), all.end(), label) > 1;
  };
  std::vector<std::string> names, labels;
  for (const RunRecord& run : runs) names.push_back(run.name);
  for (const RunRecord& run : runs) {
    const std::string folder = run.directory.lexically_normal().filename().string();
    labels.push_back(repeated(names, run.name) ? run.name + " (" + folder + ")" : run.name);
  }
  const std::vector<std::string> before = labels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (repeated(before, before[i])) labels[i] += fmt::format(" #{}", i + 1);
  return labels;
}

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

// Recipe keys whose values are not the same in all runs: what an ablation is about, and what it
// should not be about.
std::string differences(std::span<const RunRecord> runs, std::span<const std::string> labels) {
  std::set<std::string> keys;
  for (const RunRecord& run : runs)
    for (const auto& [key, value] : run.values)
      if (key != "name") keys.insert(key);
  std::vector<std::vector<std::string>> rows;
  for (const std::string& key : keys) {
    std::vector<std::string> row = {key};
    for (const RunRecord& run : runs)
      row.push_back(run.values.contains(key) ? run.values.at(key) : "—");
    if (std::any_of(row.begin() + 2, row.end(), [&](auto& cell) { return cell != row[1]; }))
      rows.push_back(std::move(row));
  }
  if (rows.empty()) return "<p>The recipes are the same but for their names.</p>\n";
  std::vector<std::string> columns = {"Recipe key"};
  columns.insert(columns.end(), labels.begin(), labels.end());
  return html_table(columns, rows);
}

std::string numbers(std::span<const RunRecord> runs, std::span<const std::string> labels) {
  std::vector<Column> columns;
  for (const std::string& label : labels) columns.push_back({label, "end"});
  std::string out;
  for (const MetricGroup& group : metrics_by_run(runs)) out += metric_table(group, columns);
  return out.empty() ? out : "<div class=\"even\">\n" + out + "</div>\n";
}

std::string problems(std::span<const RunRecord> runs, std::span<const std::string> labels) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const std::string& problem : runs[i].problems)
      out += fmt::format("<p>{}: {}</p>\n", escape_html(labels[i]), escape_html(problem));
  return out.empty() ? out : "<div class=\"notice\">\n" + out + "</div>\n";
}

}  // namespace

std::string comparison_html(std::span<const RunRecord> runs) {
  const std::vector<std::string> labels = labels_of(runs);
  const std::string title =
      fmt::format("Comparison of {} run{}", runs.size(), runs.size() == 1 ? "" : "s");
  Gallery gallery;
  std::string body = fmt::format("<h1>{}</h1>\n", title) + problems(runs, labels);
  body += html_section("Runs", overview(runs, labels));
  body += html_section("What differs", differences(runs, labels));
  body += html_section("Numbers", numbers(runs, labels));
  body += html_section("Pictures", compared_pictures(runs, labels, gallery));
  body += html_section("Curves", compared_curves(runs, labels, "loss"));
  return html_page(title, body);
}

void write_comparison(std::span<const std::filesystem::path> runs,
                      const std::filesystem::path& out) {
  require(!runs.empty(), ErrorCode::invalid_param, "a comparison needs at least one run directory");
  std::vector<RunRecord> records;
  for (const auto& directory : runs) records.push_back(load_run(directory));
  write_file_atomically(out, comparison_html(records));
}

}  // namespace gh::host
