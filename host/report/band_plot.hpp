// Means over seeds as a drawing: lines with bands (curves) or points with error bars (sweeps), over
// a common x axis. Strokes follow the page's colour, as those of gh/plot.hpp; every series is a
// group of its own, which style sheets and scripts can find.
#pragma once

#include "gh/plot.hpp"

#include <string>
#include <utility>
#include <vector>

namespace gh::host {

struct BandSeries {
  std::string name;  // shown by the pointer
  std::string color;
  // All of one length; x ascends. What is not finite is a gap.
  std::vector<double> x, y, low, high;
  std::string id = {};  // "a3": what style sheets and scripts find it by; not unique in a page
  bool off = false;     // not shown until a script says so
};

class BandPlot {
 public:
  enum class Style { band, bars };

  std::string title;
  std::string x_label;
  std::vector<PlotMark> marks;  // without room for words above: only the lines
  Style style = Style::band;
  // Where x has values of a few kinds only (sweeps): those, with their texts. Empty: round numbers.
  std::vector<std::pair<double, std::string>> ticks;
  bool logarithmic = false;  // x; all of them above 0
  // Horizontal dashed lines, of what has no x.
  std::vector<std::pair<std::string, double>> levels;
  int width = 400, height = 230;

  void add(BandSeries series) { series_.push_back(std::move(series)); }
  bool empty() const { return series_.empty(); }
  std::string svg() const;

 private:
  std::vector<BandSeries> series_;
};

}  // namespace gh::host
