// The tables of a study's page.
#include "report/format.hpp"
#include "report/page.hpp"
#include "report/study_page.hpp"
#include "report/study_plots.hpp"
#include "report/study_table.hpp"
#include "report/tables.hpp"

#include "gh/plot.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

// A path as a relative reference: nothing in it is a scheme, a query or a fragment.
std::string reference(const fs::path& file, const fs::path& folder) {
  const fs::path relative = fs::absolute(file).lexically_normal().lexically_relative(
      fs::absolute(folder.empty() ? "." : folder).lexically_normal());
  if (relative.empty()) return {};
  std::string out = "./";
  for (const char c : relative.generic_string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// A seed, as a link to its run's report where there is one.
std::string seed_link(const RunOfStudy& run, const fs::path& folder) {
  const std::string name = run.seed.empty() ? "run" : run.seed;
  std::string title = fmt::format("seed {}: {}", name, arm_state_name(run.state));
  if (!run.failure.empty()) title += ", " + run.failure;
  std::error_code error;
  const bool there = fs::is_regular_file(run.directory / "report.html", error);
  const std::string target = there ? reference(run.directory / "report.html", folder) : "";
  const std::string open =
      target.empty() ? "<span" : fmt::format("<a href=\"{}\"", escape_html(target));
  return fmt::format("{} class=\"seed {}\" title=\"{}\">{}</{}>", open, arm_state_name(run.state),
                     escape_html(title), escape_html(name), target.empty() ? "span" : "a");
}

std::string seeds_cell(const StudySummary& study, const StudyRow& row, const fs::path& folder) {
  std::string out = fmt::format("<td class=\"seeds\" data-v=\"{}\">", row.done);
  for (const std::size_t i : row.runs) out += seed_link(study.runs[i], folder) + " ";
  return out + fmt::format("<small>n = {}</small></td>", seeds_text(row));
}

// What the filter looks at beside what is to be read: keys, values and states.
std::string find_text(const StudySummary& study, const StudyRow& row) {
  std::string out;
  for (const auto& [key, value] : row.axes) out += key + "=" + value + " ";
  for (const ArmState state :
       {ArmState::fresh, ArmState::running, ArmState::done, ArmState::failed, ArmState::resumable})
    for (const std::size_t i : row.runs)
      if (study.runs[i].state == state) {
        out += std::string(arm_state_name(state)) + " ";
        break;
      }
  if (row.is_baseline()) out += "baseline ";
  if (!row.unintended.empty()) out += "unintended ";
  return out;
}

std::string arm_cell(const StudyRow& row, std::size_t index, bool drawn) {
  std::string out = "<th scope=\"row\"><label><input type=\"checkbox\" class=\"draw\"";
  if (index < kDrawnAtFirst) out += " checked";
  if (!drawn) out += " disabled";
  out += fmt::format(" aria-label=\"draw\"><i></i>{}</label>", escape_html(row.label));
  if (row.is_baseline()) out += "<small>baseline</small>";
  if (!row.unintended.empty()) {
    std::string keys;
    for (const std::string& key : row.unintended) keys += (keys.empty() ? "" : ", ") + key;
    out += fmt::format("<small class=\"warn\">† also differs in {}</small>", escape_html(keys));
  }
  return out + "</th>";
}

std::string number_cell(const StudyRow& row, std::size_t column, const MeanText& number) {
  const StudyCell& cell = row.cells[column];
  if (number.mean.empty()) return "<td class=\"n\">—</td>";
  std::string text = number.mean;
  const auto& comparison = cell.comparison;
  if (comparison && comparison->real()) text = "<b>" + text + "</b>";
  if (!number.deviation.empty()) text += fmt::format(" <i>± {}</i>", number.deviation);
  if (cell.sample.n != row.done) text += fmt::format(" <i>(n = {})</i>", cell.sample.n);
  if (comparison && !comparison->refused.empty())
    text +=
        fmt::format("<small title=\"{}\">not compared</small>", escape_html(comparison->refused));
  else if (comparison && comparison->differences.mean)
    text += fmt::format("<small>{} · p {}</small>",
                        difference_text(*comparison->differences.mean, number),
                        p_text(comparison->adjusted));
  return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>",
                     std::isfinite(*cell.sample.mean) ? fmt::format("{}", *cell.sample.mean) : "",
                     text);
}

std::string sort_heading(const std::string& text, const char* kind) {
  return fmt::format("<th{}><button type=\"button\" class=\"sort\">{}</button></th>", kind,
                     escape_html(text));
}

std::string table(const StudySummary& study, const StudyResults& results,
                  const EvaluatorColumns& part, const fs::path& folder) {
  std::string out = "<div class=\"scroll\"><table class=\"arms\">\n<thead><tr>" +
                    sort_heading(part.evaluator.empty() ? "Arm" : part.evaluator, "");
  std::vector<std::vector<MeanText>> numbers;
  for (std::size_t c = part.first; c < part.first + part.count; ++c) {
    out += sort_heading(results.columns[c].heading, " class=\"n\"");
    numbers.push_back(mean_texts(results, c));
  }
  out += sort_heading("Seeds", "") + "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const StudyRow& row = results.rows[r];
    out += fmt::format("<tr data-of=\"{}\" data-find=\"{}\" style=\"--c:{}\"{}>", arm_id(r),
                       escape_html(find_text(study, row)), plot_color(r),
                       r < kDrawnAtFirst ? "" : " class=\"off\"") +
           arm_cell(row, r, r < kArmsWithCurves);
    for (std::size_t c = 0; c < part.count; ++c)
      out += number_cell(row, part.first + c, numbers[c][r]);
    out += seeds_cell(study, row, folder) + "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string tools(const StudyResults& results) {
  return fmt::format(
      "<p class=\"tools scripted\"><input type=\"search\" id=\"filter\" placeholder=\""
      "filter: words of label, axis=value, state\" aria-label=\"filter\">\n<span "
      "id=\"count\">{}</span>\n"
      "<button type=\"button\" id=\"draw\">draw the first {} shown</button></p>\n",
      results.rows.size() == 1 ? "1 arm" : fmt::format("{} arms", results.rows.size()),
      kDrawnAtFirst);
}

// As the paper has it: blocks below each other, arms side by side.
std::string block_tables(const StudySummary& study, const StudyResults& results) {
  const PaperLayout layout = paper_layout(study, results);
  std::string out;
  for (const EvaluatorColumns& part : evaluator_columns(results)) {
    std::vector<std::vector<MeanText>> numbers;
    for (std::size_t c = 0; c < part.count; ++c)
      numbers.push_back(mean_texts(results, part.first + c));
    out += fmt::format("<div class=\"scroll\"><table class=\"blocks\">\n<thead><tr><th>{}</th>",
                       escape_html(part.evaluator));
    for (const std::string& arm : layout.arms)
      out += fmt::format("<th class=\"n\">{}</th>", escape_html(arm));
    out += "</tr></thead>\n";
    for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
      out += "<tbody>\n";
      if (!layout.blocks[b].empty())
        out += fmt::format("<tr><th colspan=\"{}\">{}</th></tr>\n", layout.arms.size() + 1,
                           escape_html(layout.blocks[b]));
      for (std::size_t c = 0; c < part.count; ++c) {
        out += fmt::format("<tr><td>{}</td>", escape_html(results.columns[part.first + c].heading));
        for (const auto& row : layout.rows[b])
          out += row ? number_cell(results.rows[*row], part.first + c, numbers[c][*row])
                     : "<td class=\"n\">—</td>";
        out += "</tr>\n";
      }
      out += "</tbody>\n";
    }
    out += "</table></div>\n";
  }
  return out;
}

// Everything that was put against a baseline, with intervals.
std::string differences(const StudyResults& results) {
  const std::vector<std::string> columns = {"Arm",           "to", "Metric",  "Mean",
                                            "95 % interval", "p",  "p, Holm", "Pairs"};
  std::vector<std::vector<std::string>> rows;
  for (const DifferenceLine& line : difference_lines(results))
    rows.push_back({line.label, line.baseline, line.metric, line.mean,
                    line.interval.empty() ? "—" : line.interval, line.p, line.adjusted,
                    std::to_string(line.pairs)});
  return rows.empty() ? "" : html_table(columns, rows);
}

std::string list(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += fmt::format("<li>{}</li>\n", escape_html(line));
  return out;
}

std::string notes(const StudyResults& results) {
  std::string out = list(results.flags);
  for (const StudyProtocol& protocol : results.protocols)
    for (const std::string& sentence : protocol.sentences)
      out += fmt::format("<li><b>{}</b>: {}</li>\n", escape_html(protocol.evaluator),
                         escape_html(sentence));
  out += list(results.notes);
  return out.empty() ? "" : "<ul class=\"notes\">\n" + out + "</ul>\n";
}

}  // namespace

std::string study_page_table(const StudySummary& study, const StudyResults& results,
                             const fs::path& folder) {
  if (results.rows.empty()) return {};
  std::string out;
  if (study.layout == "paper" && !results.columns.empty())
    out += block_tables(study, results) + "<h3>Arm by arm</h3>\n";
  std::vector<EvaluatorColumns> parts = evaluator_columns(results);
  if (parts.empty()) parts.push_back({});  // nothing is done yet
  out += tools(results);
  for (const EvaluatorColumns& part : parts) out += table(study, results, part, folder);
  return out + notes(results) +
         html_folded("Differences to the baseline, with intervals", differences(results),
                     Fold::bulky);
}

}  // namespace gh::host
