#include "report/study_plots.hpp"

#include "report/band_plot.hpp"
#include "report/curves.hpp"
#include "report/format.hpp"
#include "report/page.hpp"
#include "report/study_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace gh::host {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kPointsOfCurve = 120;
constexpr std::size_t kSweepsShown = 6;  // panels of an axis; others are folded
constexpr double kLogarithmicFrom = 10;  // largest by smallest value of an axis
constexpr std::size_t kLevels = 3;       // baselines beside an axis that have a line of theirs

// One name of a legend.
std::string legend_item(const std::string& id, const std::string& color, const std::string& name,
                        bool off) {
  return fmt::format(
      "<li data-of=\"{}\"{} style=\"--c:{}\"><button type=\"button\"><i></i>{}</button></li>\n", id,
      off ? " class=\"off\"" : "", color, escape_html(name));
}

std::string plots(const std::string& figures) {
  return figures.empty() ? "" : "<div class=\"plots\">\n" + figures + "</div>\n";
}

std::string figure(const BandPlot& plot) { return "<figure>\n" + plot.svg() + "</figure>\n"; }

// A metric or scalar of every arm.
struct Panel {
  std::string title;
  std::map<std::size_t, std::vector<PlotSeries>> of_row;  // a series per seed
};

// Mean, least and most of an arm's seeds at each x that any of them has, thinned.
BandSeries over_seeds(const std::vector<PlotSeries>& seeds) {
  std::map<double, std::vector<double>> at;
  for (const PlotSeries& seed : seeds)
    for (std::size_t i = 0; i < seed.x.size(); ++i) {
      std::vector<double>& values = at[seed.x[i]];
      if (std::isfinite(seed.y[i])) values.push_back(seed.y[i]);
    }
  const std::size_t stride = at.size() / kPointsOfCurve + 1;
  BandSeries out;
  std::size_t left = at.size();
  for (const auto& [x, values] : at) {
    if (--left % stride != 0) continue;  // the last is always there
    out.x.push_back(x);
    out.y.push_back(mean_and_deviation(values).mean.value_or(kNone));
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    out.low.push_back(values.empty() ? kNone : *low);
    out.high.push_back(values.empty() ? kNone : *high);
  }
  return out;
}

std::string draw(const Panel& panel, const StudyResults& results) {
  BandPlot plot;
  plot.title = panel.title;
  plot.x_label = "epoch";
  for (const auto& [row, seeds] : panel.of_row) {
    BandSeries series = over_seeds(seeds);
    series.name = results.rows[row].label;
    series.color = plot_color(row);
    series.id = arm_id(row);
    series.off = row >= kDrawnAtFirst;
    plot.add(std::move(series));
  }
  return figure(plot);
}

// Panels in the order in which they are first met.
class Panels {
 public:
  void add(const std::string& title, std::size_t row, PlotSeries series) {
    auto it = std::find_if(all_.begin(), all_.end(), [&](auto& p) { return p.title == title; });
    if (it == all_.end()) it = all_.insert(it, Panel{title, {}});
    it->of_row[row].push_back(std::move(series));
  }
  std::string draw_all(const StudyResults& results) const {
    std::string out;
    for (const Panel& panel : all_) out += draw(panel, results);
    return out;
  }

 private:
  std::vector<Panel> all_;
};

// Metrics of regular moments. Of groups of classes the whole and the tail tell most.
void add_metrics(std::span<const RunRecord> runs, const std::vector<std::size_t>& row_of,
                 Panels& panels) {
  std::vector<std::vector<EvaluatorSeries>> series;
  for (std::size_t i = 0; i < runs.size(); ++i)
    series.push_back(row_of[i] < kArmsWithCurves ? evaluator_series(runs[i])
                                                 : std::vector<EvaluatorSeries>{});
  const std::vector<EvaluatorMatch> matches = match_evaluators(series);
  const std::vector<std::string> labels = match_labels(matches);
  for (std::size_t m = 0; m < matches.size(); ++m)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const EvaluatorSeries* of_run = matches[m].of_run[i];
      if (!of_run || !of_run->regular()) continue;
      const bool groups = find_metric(of_run->last(), "average");
      for (PlotSeries& curve : metric_curves(*of_run)) {
        if (groups && curve.name != "average" && curve.name != "few") continue;
        const std::string title = fmt::format("{}: {}", labels[m], curve.name);
        panels.add(title, row_of[i], std::move(curve));
      }
    }
}

std::string arms_legend(const StudyResults& results) {
  std::string out = "<ul class=\"legend\" id=\"arms\">\n";
  for (std::size_t row = 0; row < std::min(results.rows.size(), kArmsWithCurves); ++row)
    out += legend_item(arm_id(row), plot_color(row), results.rows[row].label, row >= kDrawnAtFirst);
  return out + "</ul>\n";
}

std::string curves_caption(const StudyResults& results) {
  std::string out =
      "Mean of the seeds that got so far; the band spans them from the least to the most.";
  if (results.rows.size() > kDrawnAtFirst)
    out += fmt::format(
        " Drawn are the first {} arms<span class=\"scripted\"> or those that are "
        "ticked in the table</span>.",
        kDrawnAtFirst);
  if (results.rows.size() > kArmsWithCurves)
    out += fmt::format(" There are curves of the first {} arms only.", kArmsWithCurves);
  if (results.rows.size() > kArmsWithEveryScalar)
    out += " What else was logged stands in the runs' reports.";
  return "<p class=\"caption\">" + out + "</p>\n";
}

// The number that an axis has for an arm; nullopt where it has none, or no number.
std::optional<double> axis_number(const StudyRow& row, const std::string& key, std::string& text) {
  for (const auto& [name, value] : row.axes) {
    if (name != key) continue;
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !std::isfinite(number)) return std::nullopt;
    text = value;
    return number;
  }
  return std::nullopt;
}

// What an arm is beside its place on the axis.
std::string rest_of(const std::map<std::string, std::string>& names, const StudyRow& row,
                    const std::string& key) {
  std::string out = row.arm;
  for (const auto& [name, value] : row.axes)
    if (name != key)
      out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", names.at(name), value);
  return out;
}

// The arms along one axis.
struct Sweep {
  std::string key;
  std::map<double, std::string> values;
  // Name of a line → its arms by value; in the order of the file.
  std::vector<std::pair<std::string, std::map<double, std::size_t>>> lines;
  std::vector<std::size_t> levels;  // baselines that have no place on the axis
};

Sweep sweep_of(const StudyResults& results, const std::string& key) {
  Sweep out{key, {}, {}, {}};
  const std::map<std::string, std::string> names = short_axes(results);
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const StudyRow& row = results.rows[r];
    std::string text;
    const auto number = axis_number(row, key, text);
    if (!number) {
      if (row.is_baseline()) out.levels.push_back(r);
      continue;
    }
    out.values[*number] = text;
    const std::string name = rest_of(names, row, key);
    auto it = std::find_if(out.lines.begin(), out.lines.end(),
                           [&](auto& line) { return line.first == name; });
    if (it == out.lines.end()) it = out.lines.insert(it, {name, {}});
    it->second[*number] = r;
  }
  std::erase_if(out.lines, [](const auto& line) { return line.second.size() < 2; });
  return out;
}

std::string sweep_figure(const Sweep& sweep, const StudyResults& results, std::size_t c,
                         const std::string& id) {
  BandPlot plot;
  const bool several = evaluator_columns(results).size() > 1;
  plot.title = (several ? results.columns[c].evaluator + ": " : "") + results.columns[c].heading;
  plot.x_label = sweep.key;
  plot.style = BandPlot::Style::bars;
  plot.ticks.assign(sweep.values.begin(), sweep.values.end());
  const double least = sweep.values.begin()->first, most = sweep.values.rbegin()->first;
  plot.logarithmic = least > 0 && most >= kLogarithmicFrom * least;
  for (std::size_t l = 0; l < sweep.lines.size(); ++l) {
    BandSeries series;
    series.name = sweep.lines[l].first;
    series.color = plot_color(l);
    series.id = fmt::format("{}-{}", id, l);
    series.off = l >= kDrawnAtFirst;
    for (const auto& [x, r] : sweep.lines[l].second) {
      const Sample& sample = results.rows[r].cells[c].sample;
      const double mean = sample.mean.value_or(kNone), room = sample.deviation.value_or(0);
      series.x.push_back(x);
      series.y.push_back(mean);
      series.low.push_back(mean - room);
      series.high.push_back(mean + room);
    }
    if (std::any_of(series.y.begin(), series.y.end(), [](double y) { return std::isfinite(y); }))
      plot.add(std::move(series));
  }
  if (plot.empty()) return {};
  if (sweep.levels.size() <= kLevels)
    for (const std::size_t r : sweep.levels)
      if (const auto& mean = results.rows[r].cells[c].sample.mean)
        plot.levels.emplace_back(results.rows[r].label, *mean);
  return figure(plot);
}

std::string sweep_part(const Sweep& sweep, const StudyResults& results, const std::string& id) {
  std::string shown, folded;
  std::size_t drawn = 0;
  for (std::size_t c = 0; c < results.columns.size(); ++c) {
    const std::string drawing = sweep_figure(sweep, results, c, id);
    if (!drawing.empty()) (drawn++ < kSweepsShown ? shown : folded) += drawing;
  }
  if (shown.empty()) return {};
  std::string legend;
  if (sweep.lines.size() > 1 || !sweep.lines[0].first.empty())
    for (std::size_t l = 0; l < sweep.lines.size(); ++l)
      legend += legend_item(fmt::format("{}-{}", id, l), plot_color(l), sweep.lines[l].first,
                            l >= kDrawnAtFirst);
  return fmt::format("<h3><code>{}</code></h3>\n", escape_html(sweep.key)) +
         (legend.empty() ? "" : "<ul class=\"legend switches\">\n" + legend + "</ul>\n") +
         plots(shown) + html_folded("Other metrics", plots(folded));
}

}  // namespace

std::string arm_id(std::size_t row) { return fmt::format("a{}", row); }

std::string study_curves(const StudySummary& study, const StudyResults& results,
                         std::span<const RunRecord> runs) {
  std::vector<std::size_t> row_of(study.runs.size());
  for (std::size_t r = 0; r < results.rows.size(); ++r)
    for (const std::size_t i : results.rows[r].runs) row_of[i] = r;
  Panels metrics, losses, others;
  add_metrics(runs, row_of, metrics);
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (auto& [name, series] : scalar_curves(runs[i]))
      (name.starts_with("loss") ? losses : others).add(name, row_of[i], std::move(series));
  const std::string drawn = metrics.draw_all(results) + losses.draw_all(results);
  if (drawn.empty()) return {};
  return arms_legend(results) + plots(drawn) + curves_caption(results) +
         html_folded("Other scalars", plots(others.draw_all(results)), Fold::bulky);
}

std::string study_sweeps(const StudyResults& results) {
  std::vector<std::string> keys;
  for (const StudyRow& row : results.rows)
    for (const auto& [key, value] : row.axes)
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  std::string out;
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (const Sweep sweep = sweep_of(results, keys[k]); !sweep.lines.empty())
      out += sweep_part(sweep, results, fmt::format("x{}", k));
  if (out.empty()) return out;
  return out +
         "<p class=\"caption\">Mean ± sample standard deviation over the seeds that are done. "
         "Dashed: "
         "a baseline that has no place on the axis.</p>\n";
}

}  // namespace gh::host
