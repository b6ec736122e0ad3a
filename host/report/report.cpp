#include "report/report.hpp"

#include "files/file_write.hpp"
#include "report/curves.hpp"
#include "report/format.hpp"
#include "report/gallery.hpp"
#include "report/group_rows.hpp"
#include "report/metrics.hpp"
#include "report/page.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace gh::host {
namespace {

// "807 samples, 4 classes of 500 to 31".
std::string training_set(const RunRecord& run) {
  const std::string samples = fmt::format("{} samples", run.samples);
  if (run.class_counts.size() < 2) return samples;
  const auto [least, most] = std::minmax_element(run.class_counts.begin(), run.class_counts.end());
  return fmt::format("{}, {} classes of {} to {}", samples, run.class_counts.size(), *most, *least);
}

std::string heading(const RunRecord& run) {
  const StatusRecord& status = run.status;
  std::string out = fmt::format("<h1>{}</h1>\n", escape_html(run.name));
  if (const std::string what = composition(run); !what.empty())
    out += fmt::format("<p class=\"lead\">{}</p>\n", escape_html(what));
  out += fmt::format("<ul class=\"facts\">\n<li>{}</li>\n", state_badge(status.state));
  const auto fact = [&](const std::string& text) {
    out += fmt::format("<li>{}</li>\n", escape_html(text));
  };
  if (status.epochs > 0) fact(fmt::format("epoch {} of {}", status.epoch, status.epochs));
  if (status.seconds > 0) fact(format_duration(status.seconds));
  if (run.samples > 0) fact(training_set(run));
  if (const std::string seed = run.value("seed"); !seed.empty()) fact("seed " + seed);
  if (!status.updated.empty()) fact(time_of_day(status.updated));
  out += "</ul>\n";
  if (status.state != "finished" && !status.message.empty())
    out += html_notice(std::array{status.message});
  std::vector<std::string> failures;
  for (const std::string& failure : run.failures)
    failures.push_back("Evaluation failed: " + failure);
  return out + html_notice(failures) + html_notice(run.problems);
}

// Results by group of classes: the last moment of each evaluator large, that before training below
// it, for what was learned, those between folded.
std::string by_group(std::span<const EvaluatorSeries> all, std::span<const std::string> labels) {
  std::vector<GroupLine> last, start, earlier;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const ResultRecord* result : all[i].shown()) {
      const auto row = group_row(*result);
      if (!row) continue;
      if (result == &all[i].last()) {
        last.push_back({labels[i], row->how, *row});
        last.back().row.evaluator = labels[i];
        continue;
      }
      const std::string label = moment_label(*result), epoch = epoch_beside(label, row->epoch);
      auto& before = result->moment == "start" ? start : earlier;
      before.push_back({labels[i], label + (epoch.empty() ? "" : ", " + epoch), *row});
    }
  return group_table(last) + compact_group_table(start) +
         html_folded("Earlier moments", compact_group_table(earlier));
}

std::string numbers(const EvaluatorSeries& series, const std::string& label) {
  const MetricGroup group = metrics_by_moment(series, label);
  if (group.rows.empty()) return {};
  std::vector<Column> columns;
  for (const ResultRecord* moment : group.columns) {
    const std::string name = moment_label(*moment);
    columns.push_back({name, epoch_beside(name, moment->epoch)});
  }
  return metric_table(group, columns);
}

// Everything one evaluator left: pictures, numbers, tables, how it was done. Numbers that stand at
// the top of the page are repeated for those who want the definitions.
Section evaluator_section(const EvaluatorSeries& series, const std::string& label,
                          Gallery& gallery) {
  const auto row = group_row(series.last());
  const std::string moment = moment_label(series.last());
  const std::string epoch = epoch_beside(moment, series.last().epoch);
  std::string detail = moment + (epoch.empty() ? "" : ", " + epoch);
  if (row && !row->how.empty()) detail += " · " + row->how;
  std::string content = series_pictures(series, gallery);
  content += row ? "" : numbers(series, label);
  content += series_tables(series);
  content +=
      row ? html_folded("All numbers, with definitions", numbers(series, label), Fold::bulky) : "";
  content += protocol(series);
  content += html_folded("Earlier moments",
                         earlier_pictures(series, gallery) + earlier_tables(series), Fold::bulky);
  return {label, detail, content};
}

std::string curves(const RunRecord& run) {
  const std::string evaluation = evaluation_curves(run), training = run_curves(run);
  if (evaluation.empty() || training.empty()) return evaluation + training;
  return "<h3>Evaluation</h3>\n" + evaluation + "<h3>Training</h3>\n" + training;
}

std::string environment(const RunRecord& run) {
  std::string out;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : run.environment) rows.push_back({key, value});
  if (!rows.empty()) {
    const std::vector<std::string> columns = {"What", "Value"};
    out += html_table(columns, rows);
  }
  rows.clear();
  for (const PluginRecord& p : run.plugins)
    rows.push_back({p.name, p.version, p.provides, p.file, p.sha256});
  if (!rows.empty()) {
    const std::vector<std::string> columns = {"Plugin", "Version", "Provides", "File", "SHA-256"};
    out += html_table(columns, rows);
  }
  return out;
}

std::string verbatim(const std::string& text) {
  return text.empty() ? "" : fmt::format("<pre>{}</pre>\n", escape_html(text));
}

std::string made_by(const RunRecord& run) {
  for (const auto& [key, value] : run.environment)
    if (key == "ghhost") return "ghhost " + value;
  return "ghhost";
}

}  // namespace

std::string report_html(const RunRecord& run) {
  Gallery gallery;
  const std::vector<EvaluatorSeries> all = evaluator_series(run);
  const std::vector<std::string> labels = evaluator_labels(all);
  std::vector<Section> sections = {{"By group of classes", "", by_group(all, labels)}};
  for (std::size_t i = 0; i < all.size(); ++i)
    sections.push_back(evaluator_section(all[i], labels[i], gallery));
  sections.push_back({"Curves", "", curves(run)});
  std::string body = heading(run) + html_sections(sections);
  body += html_folded("Recipe, every default included", verbatim(run.recipe));
  body += html_folded("Environment and plugins", environment(run));
  body += html_folded("End of the log", verbatim(run.log_tail),
                      run.status.state == "failed" ? Fold::open : Fold::closed);
  body += fmt::format("<footer>{}</footer>\n", escape_html(made_by(run)));
  return html_page(run.name, body);
}

void write_report(const std::filesystem::path& run_directory) {
  write_file_atomically(run_directory / "report.html", report_html(load_run(run_directory)));
}

}  // namespace gh::host
