#include "report/curves.hpp"

#include "report/format.hpp"
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace gh::host {
namespace {

constexpr int kWidth = 400;  // a phone's width and a bit, so that its text stays legible there
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
  const bool legend = panel.series.size() > 1;  // also where one of several runs has this curve
  for (const PlotSeries& series : panel.series)
    plot.add({legend ? series.name : "", series.x, series.y});
  return "<figure>\n" + plot.svg() + "</figure>\n";
}

// What people look for first comes first, what is bookkeeping last.
int rank(const std::string& family) {
  return family == "loss" ? 0 : family == "lr" ? 1 : family == "time" ? 3 : 2;
}

// Groups of classes share a plot, every other metric has its own.
std::vector<Panel> metric_panels(const EvaluatorSeries& series, const std::string& label) {
  const TableRecord* groups = find_table(series.last(), "groups");
  const auto is_group = [&](const std::string& name) {
    return groups &&
           std::find(groups->columns.begin(), groups->columns.end(), name) != groups->columns.end();
  };
  Panel by_group{label + ": by group", {}};
  std::vector<Panel> others;
  const std::vector<double>* average = nullptr;
  std::vector<PlotSeries> curves = metric_curves(series);
  for (const PlotSeries& curve : curves)
    if (curve.name == "average") average = &curve.y;
  for (const PlotSeries& curve : curves) {
    if (is_group(curve.name))
      by_group.series.push_back(curve);
    else if (curve.name != "accuracy" || !average || curve.y != *average)  // a balanced split
      others.push_back({label + ": " + curve.name, {curve}});
  }
  if (!by_group.series.empty()) others.insert(others.begin(), by_group);
  return others;
}

}  // namespace

std::vector<PlotSeries> metric_curves(const EvaluatorSeries& series) {
  std::vector<PlotSeries> out;
  for (const ResultRecord* result : series.results)
    for (const MetricRecord& metric : result->metrics) {
      auto it =
          std::find_if(out.begin(), out.end(), [&](auto& s) { return s.name == metric.name; });
      if (it == out.end()) it = out.insert(it, {metric.name, {}, {}});
      const auto x = static_cast<double>(result->epoch);
      const double y = metric.value.value_or(std::numeric_limits<double>::quiet_NaN());
      if (!it->x.empty() && it->x.back() == x) {
        it->y.back() = y;  // the end is one of the regular moments, too
        continue;
      }
      it->x.push_back(x);
      it->y.push_back(y);
    }
  return out;
}

std::map<std::string, PlotSeries> scalar_curves(const RunRecord& run) {
  return timeline_of(run).scalars;
}

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

std::string evaluation_curves(const RunRecord& run) {
  const std::vector<EvaluatorSeries> all = evaluator_series(run);
  const std::vector<std::string> labels = evaluator_labels(all);
  Timeline timeline;
  if (const auto end = warm_up_end(run); end && *end > 0)
    timeline.marks.emplace_back(static_cast<double>(*end), "end of warm-up");
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].regular())
      for (const Panel& panel : metric_panels(all[i], labels[i])) out += draw(panel, timeline);
  return out.empty() ? out : "<div class=\"plots\">\n" + out + "</div>\n";
}

std::string compared_curves(std::span<const RunRecord> runs, std::span<const std::string> labels) {
  std::map<std::pair<int, std::string>, Panel> panels;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (auto& [name, series] : timeline_of(runs[i]).scalars) {
      const std::string family = family_of(name);
      if (family == "time" || (family != "loss" && constant_value(series))) continue;
      Panel& panel = panels[{rank(family), name}];
      panel.title = name == "lr" ? "learning rate" : name;
      series.name = labels[i];
      panel.series.resize(i);  // keeps the colour of a run the same in every plot
      panel.series.push_back(std::move(series));
    }
  }
  std::string losses, others;
  for (const auto& [key, panel] : panels) (key.first == 0 ? losses : others) += draw(panel, {});
  if (losses.empty() && others.empty()) return {};
  std::string out;
  if (!losses.empty()) out += "<div class=\"plots\">\n" + losses + "</div>\n";
  if (!others.empty())
    out += html_folded("Other scalars", "<div class=\"plots\">\n" + others + "</div>\n");
  return out;
}

std::string compared_evaluation_curves(std::span<const EvaluatorMatch> matches,
                                       std::span<const std::string> evaluators,
                                       std::span<const std::string> labels) {
  std::string out;
  for (std::size_t m = 0; m < matches.size(); ++m) {
    std::map<std::string, Panel> panels;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const EvaluatorSeries* series = matches[m].of_run[i];
      if (!series || !series->regular()) continue;
      for (PlotSeries& curve : metric_curves(*series)) {
        if (curve.name != "average" && curve.name != "few" &&
            find_metric(series->last(), "average"))
          continue;  // of groups, the whole and the tail tell most
        Panel& panel = panels[curve.name];
        panel.title = evaluators[m] + ": " + curve.name;
        curve.name = labels[i];
        panel.series.resize(i);
        panel.series.push_back(std::move(curve));
      }
    }
    for (const auto& [name, panel] : panels) out += draw(panel, {});
  }
  return out.empty() ? out : "<div class=\"plots\">\n" + out + "</div>\n";
}

}  // namespace gh::host
