// Small drawings for reports, as SVG text for Evaluation::picture() and Host::picture(). Strokes and text use the page's colour
// (currentColor), so a drawing fits light and dark pages.
//
//   gh::ScatterPlot plot;
//   plot.title = "embedding";
//   plot.add({.name = "class 0", .x = xs, .y = ys});
//   evaluation.picture("embedding", "each dot is a sample", "image/svg+xml", plot.svg());
#pragma once

#include "gh/export.hpp"

#include <string>
#include <vector>

namespace gh {
inline namespace v1 {

struct PlotSeries {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
};

// Dots by group, equal scales on both axes, centred on the origin.
class GH_API ScatterPlot {
 public:
  std::string title;
  bool unit_circle = false;  // draw it
  double extent = 0;         // half-width of the drawing; 0: from the data
  int size = 320;            // pixels

  void add(PlotSeries series);
  std::string svg() const;

 private:
  std::vector<PlotSeries> series_;
};

// Lines over a common x axis; non-finite values interrupt a line.
class GH_API LinePlot {
 public:
  std::string title;
  std::string x_label;
  std::vector<double> marks;  // dashed vertical lines
  int width = 640;
  int height = 240;

  void add(PlotSeries series);
  std::string svg() const;

 private:
  std::vector<PlotSeries> series_;
};

// Colour of the n-th group: distinguishable in light and dark and with the usual colour blindness (Okabe and Ito 2008).
GH_API std::string plot_color(std::size_t n);

}  // namespace v1
}  // namespace gh
