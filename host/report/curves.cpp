#include "report/curves.hpp"

#include "report/format.hpp"

#include "gh/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace gh::host {
namespace {

constexpr int kWidth =
    400;  // at most a phone's width and a bit, so that its text stays legible there
constexpr int kHeight = 230;
constexpr double kSameScale = 20;  // curves whose sizes differ by more do not share an axis

// A run's scalars over one x axis; the epochs of later stages follow those of earlier ones.
struct Timeline {
  std::map<std::string, PlotSeries> scalars;
  std::vector<PlotMark> marks;
  std::string x_label = "epoch";
};

Timeline timeline_of(const RunRecord& run) {
  Timeline out;
  double offset = 0, last = 0;
  std::vector<double> x;
  for (std::size_t i = 0; i < run.epochs.size(); ++i) {
    const EpochRecord& row = run.epochs[i];
    if (i > 0 && row.stage != run.epochs[i - 1].stage) {
      offset = last;
      out.marks.emplace_back(offset, row.stage);
      out.x_label = "epoch, over all stages";
    }
    last = offset + static_cast<double>(row.epoch);
    x.push_back(last);
    for (const auto& [name, value] : row.scalars) {
      PlotSeries& series = out.scalars[name];
      series.name = name;
      series.y.resize(i, std::numeric_limits<double>::quiet_NaN());  // not logged until now
      series.y.push_back(value);
    }
  }
  for (auto& [name, series] : out.scalars) {
    series.y.resize(x.size(), std::numeric_limits<double>::quiet_NaN());
    series.x = x;
  }
  if (const auto end = warm_up_end(run); end && *end > 0)
    out.marks.emplace(out.marks.begin(), static_cast<double>(*end), "end of warm-up");
  return out;
}

std::string family_of(const std::string& name) { return name.substr(0, name.find_first_of("_./")); }

double magnitude(const PlotSeries& series) {
  double most = 0;
  for (const double value : series.y)
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most;
}

// The one value a scalar ever had, where it was logged; nullopt when it changed or was never
// finite.
std::optional<double> constant_value(const PlotSeries& series) {
  std::optional<double> value;
  for (const double y : series.y) {
    if (!std::isfinite(y)) continue;
    if (value && *value != y) return std::nullopt;
    value = y;
  }
  return value;
}

struct Panel {
  std::string title;  // the series' name when there is only one
  std::vector<PlotSeries> series;
};

// Panels of one family: one for losses and rates, otherwise one per scale.
std::vector<Panel> panels_of(const std::string& family, std::vector<PlotSeries> members) {
  std::vector<Panel> panels;
  for (PlotSeries& series : members) {
    const double size = magnitude(series);
    const auto fits = [&](const Panel& panel) {
      const double other = magnitude(panel.series.front());
      return family == "loss" || family == "lr" ||
             std::max(size, other) <= kSameScale * std::min(size, other);
    };
    const auto it = std::find_if(panels.begin(), panels.end(), fits);
    if (it != panels.end()) {
      it->title = family;
      it->series.push_back(std::move(series));
    } else {
      panels.push_back({series.name, {std::move(series)}});
    }
  }
  for (Panel& panel : panels)
    if (panel.title == "lr") panel.title = "learning rate";
  return panels;
}

std::string draw(const Panel& panel, const Timeline& timeline) {
  LinePlot plot;
  plot.title = panel.title;
  plot.x_label = timeline.x_label;
  plot.marks = timeline.marks;
  plot.width = kWidth;
  plot.height = kHeight;
  const bool legend = panel.series.size() > 1;
  for (const PlotSeries& series : panel.series)
    plot.add({legend ? series.name : "", series.x, series.y});
  return "<figure>\n" + plot.svg() + "</figure>\n";
}

// What people look for first comes first, what is bookkeeping last.
int rank(const std::string& family) {
  return family == "loss" ? 0 : family == "lr" ? 1 : family == "time" ? 3 : 2;
}

}  // namespace

std::string run_curves(const RunRecord& run) {
  Timeline timeline = timeline_of(run);
  if (timeline.scalars.empty()) return {};
  std::map<std::pair<int, std::string>, std::vector<PlotSeries>> families;
  std::string constants;
  for (auto& [name, series] : timeline.scalars) {
    const std::string family = family_of(name);
    const auto value = constant_value(series);
    if (family != "loss" && series.y.size() > 1 && value) {
      constants += fmt::format("{}<code>{}</code> = {:.4g}", constants.empty() ? "" : ", ",
                               escape_html(name), *value);
    } else {
      families[{rank(family), family}].push_back(std::move(series));
    }
  }
  std::string out = "<div class=\"plots\">\n";
  for (auto& [key, members] : families)
    for (const Panel& panel : panels_of(key.second, std::move(members)))
      out += draw(panel, timeline);
  out += "</div>\n";
  if (!constants.empty()) out += "<p class=\"caption\">Never changed: " + constants + ".</p>\n";
  return out;
}

std::string compared_curves(std::span<const RunRecord> runs, std::span<const std::string> labels,
                            const std::string& name) {
  LinePlot plot;
  plot.title = name;
  plot.x_label = "epoch";
  plot.width = 440;
  plot.height = 260;
  bool any = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    PlotSeries series = timeline_of(runs[i]).scalars[name];
    any = any || !series.x.empty();
    series.name = labels[i];
    plot.add(std::move(series));
  }
  return any ? "<div class=\"plots wide\"><figure>\n" + plot.svg() + "</figure></div>\n" : "";
}

}  // namespace gh::host
