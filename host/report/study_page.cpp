#include "report/study_page.hpp"

#include "files/file_write.hpp"
#include "report/format.hpp"
#include "report/page.hpp"
#include "report/study_plots.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace gh::host {
namespace {

constexpr int kRefreshSeconds = 60;
constexpr std::size_t kLinesShown = 12;  // of troubles and of runs under way; others are folded
constexpr std::array kStates = {ArmState::done, ArmState::running, ArmState::resumable,
                                ArmState::failed, ArmState::fresh};

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? std::clamp(100.0 * static_cast<double>(part) / static_cast<double>(whole), 0.0,
                                100.0)
                   : 0;
}

// A bar of all runs by state, and in words the epochs and the time.
std::string progress(const StudySummary& study) {
  std::string bar, facts;
  for (const ArmState state : kStates) {
    const std::size_t n = count_state(study, state);
    if (n == 0) continue;
    bar += fmt::format("<i class=\"{}\" style=\"flex-grow:{}\"></i>", arm_state_name(state), n);
    facts +=
        fmt::format("<li><span class=\"dot {0}\"></span>{1} {0}</li>\n", arm_state_name(state), n);
  }
  if (study.epochs_planned > 0)
    facts += fmt::format("<li>{} of {} epochs ({:.0f} %)</li>\n", study.epochs_done,
                         study.epochs_planned, percent(study.epochs_done, study.epochs_planned));
  if (study.seconds_left && *study.seconds_left > 0)
    facts += fmt::format("<li>about {} left</li>\n", format_duration(*study.seconds_left));
  if (!study.updated.empty())
    facts += fmt::format("<li>{}</li>\n", escape_html(time_of_day(study.updated)));
  return fmt::format(
      "<div class=\"progress\" aria-hidden=\"true\">{}</div>\n"
      "<ul class=\"facts\">\n{}</ul>\n",
      bar, facts);
}

std::string heading(const StudySummary& study, const StudyResults& results) {
  std::string lead =
      fmt::format("{} arm{}, {} run{}", results.rows.size(), results.rows.size() == 1 ? "" : "s",
                  study.runs.size(), study.runs.size() == 1 ? "" : "s");
  if (!study.baseline.empty()) lead += ", against " + study.baseline;
  std::string out = fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escape_html(study.name),
                                escape_html(lead)) +
                    progress(study);
  std::vector<std::string> shown = results.trouble;
  std::vector<std::string> more;
  if (shown.size() > kLinesShown) {
    more.assign(shown.begin() + kLinesShown, shown.end());
    shown.resize(kLinesShown);
  }
  return out + html_notice(shown) +
         html_folded(fmt::format("{} more of these", more.size()), html_notice(more));
}

std::string way_table(const std::vector<std::string>& rows) {
  if (rows.empty()) return {};
  return fmt::format(
      "<div class=\"scroll\"><table class=\"way\">\n<thead><tr><th>Arm</th><th>Seed</th>"
      "<th>State</th><th></th><th class=\"n\">Epochs</th><th class=\"n\">Left</th></tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n",
      fmt::join(rows, ""));
}

// The runs that are at work, or were.
std::string under_way(const StudySummary& study) {
  std::vector<std::string> shown, more;
  for (const ArmState state : {ArmState::running, ArmState::resumable})
    for (const RunOfStudy& run : study.runs) {
      if (run.state != state) continue;
      (shown.size() < kLinesShown ? shown : more)
          .push_back(fmt::format(
              "<tr><td>{}</td><td>{}</td><td>{}</td><td><div class=\"progress\"><i class=\"{}\" "
              "style=\"flex-basis:{:.1f}%\"></i></div></td><td class=\"n\">{} of {}</td>"
              "<td class=\"n\">{}</td></tr>\n",
              escape_html(run.label), escape_html(run.seed), state_badge(arm_state_name(state)),
              arm_state_name(state), percent(run.epochs_done, run.epochs_planned), run.epochs_done,
              run.epochs_planned, run.seconds_left ? format_duration(*run.seconds_left) : "—"));
    }
  return way_table(shown) + html_folded(fmt::format("{} more", more.size()), way_table(more));
}

}  // namespace

std::string study_html(const StudySummary& study, std::span<const RunRecord> runs,
                       const std::filesystem::path& folder) {
  const StudyResults results = study_results(study, runs);
  const std::array sections = {Section{"Under way", "", under_way(study)},
                               Section{"Results", "", study_page_table(study, results, folder)},
                               Section{"Along the axes", "", study_sweeps(results)},
                               Section{"Curves", "", study_curves(study, results, runs)}};
  const bool going = count_state(study, ArmState::running) > 0;
  return html_page(
      study.name,
      fmt::format("<div id=\"study\" data-refresh=\"{}\" data-first=\"{}\">\n{}{}</div>\n",
                  going ? kRefreshSeconds : 0, kDrawnAtFirst, heading(study, results),
                  html_sections(sections)),
      {study_style(), study_script(), going ? kRefreshSeconds : 0});
}

void write_study_page(const StudySummary& study, const std::filesystem::path& page) {
  const std::vector<RunRecord> runs = load_study_runs(study, ForCurves::yes);
  write_shared_file(page, study_html(study, runs, page.parent_path()));
}

}  // namespace gh::host
