#include "report/report.hpp"

#include "report/curves.hpp"
#include "report/format.hpp"
#include "report/metrics.hpp"
#include "report/page.hpp"
#include "report/pictures.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <vector>

namespace gh::host {
namespace {

std::string notice(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string out = "<div class=\"notice\">\n";
  for (const std::string& line : lines) out += fmt::format("<p>{}</p>\n", escape_html(line));
  return out + "</div>\n";
}

std::string heading(const RunRecord& run) {
  const StatusRecord& status = run.status;
  std::string out = fmt::format("<h1>{}</h1>\n", escape_html(run.name));
  if (const std::string what = composition(run); !what.empty())
    out += fmt::format("<p class=\"lead\">{}</p>\n", escape_html(what));
  out += "<ul class=\"facts\">\n<li>" + state_badge(status.state) + "</li>\n";
  const auto fact = [&](const std::string& text) {
    out += fmt::format("<li>{}</li>\n", escape_html(text));
  };
  if (status.epochs > 0) fact(fmt::format("epoch {} of {}", status.epoch, status.epochs));
  if (status.seconds > 0) fact(format_duration(status.seconds));
  if (const std::string seed = run.value("seed"); !seed.empty()) fact("seed " + seed);
  if (!status.updated.empty()) fact(status.updated);
  out += "</ul>\n";
  if (status.state != "finished" && !status.message.empty()) out += notice({status.message});
  return out + notice(run.problems);
}

std::string numbers(const RunRecord& run) {
  std::string out;
  for (const MetricGroup& group : metrics_by_moment(run)) {
    std::vector<Column> columns;
    for (const Moment& moment : group.moments)
      columns.push_back({moment.label, fmt::format("epoch {}", moment.epoch)});
    out += metric_table(group, columns);
  }
  return out;
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
  return text.empty() ? "" : "<pre>" + escape_html(text) + "</pre>\n";
}

std::string made_by(const RunRecord& run) {
  for (const auto& [key, value] : run.environment)
    if (key == "ghhost") return "ghhost " + value;
  return "ghhost";
}

}  // namespace

std::string report_html(const RunRecord& run) {
  Gallery gallery;
  std::string body = heading(run);
  body += html_section("Pictures", run_pictures(run, gallery));
  body += html_section("Numbers", numbers(run));
  body += html_section("Tables", run_tables(run));
  body += html_section("Curves", run_curves(run));
  body += html_folded("Recipe, every default included", verbatim(run.recipe));
  body += html_folded("Environment and plugins", environment(run));
  body += html_folded("End of the log", verbatim(run.log_tail),
                      run.status.state == "failed" ? Fold::open : Fold::closed);
  body += fmt::format("<footer>{}</footer>\n", escape_html(made_by(run)));
  return html_page(run.name, body);
}

void write_report(const std::filesystem::path& run_directory) {
  replace_file(run_directory / "report.html", report_html(load_run(run_directory)));
}

}  // namespace gh::host
