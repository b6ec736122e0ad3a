// Small drawings for reports, as SVG text for Evaluation::picture() and Host::picture(). Strokes
// and text use the page's colour (currentColor), so a drawing fits light and dark pages; there are
// no ids, so any number of drawings fit one page. The same input gives the same bytes.
//
//   gh::ScatterPlot plot;
//   plot.title = "embedding";
//   plot.unit_circle = true;
//   plot.add({.name = "class 0", .x = xs, .y = ys});
//   evaluation.picture("embedding", "each dot is a sample", "image/svg+xml", plot.svg());
//
// Names and titles are plain UTF-8 text; svg() escapes them. Every function may be called from any
// thread, on objects that are not shared.
#pragma once

#include "gh/export.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gh {
inline namespace v1 {

struct PlotSeries {
  // Empty: not in the legend.
  std::string name;
  // As many as y.
  std::vector<double> x;
  std::vector<double> y;
};

// A dashed vertical line at `x` of a line plot, with a word above it.
struct PlotMark {
  PlotMark(double at, std::string text = {}) : x(at), label(std::move(text)) {}
  double x;
  std::string label;
};

// Dots by group, equal scales on both axes, centred on the origin. Large groups are drawn first, so
// that small ones stay visible. Above 3000 dots each group is thinned evenly, small groups last,
// and the drawing says so; it also says how many dots lie outside or are not finite.
class GH_API ScatterPlot {
 public:
  std::string title;
  // Whether to draw it, in place of scales.
  bool unit_circle = false;
  // Half-width of the drawing; 0: from the data.
  double extent = 0;
  // Pixels; at least 120.
  int size = 320;

  // Throws Error shape when x and y differ in length.
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
  // Those outside the data's range are left out.
  std::vector<PlotMark> marks;
  // Pixels; at least 160.
  int width = 640;
  // Pixels; at least 120.
  int height = 240;

  // Throws Error shape when x and y differ in length. x must ascend.
  void add(PlotSeries series);
  std::string svg() const;

 private:
  std::vector<PlotSeries> series_;
};

// Bars side by side from left to right, one colour a series; heights from 0 to `top`. A value that
// is not finite is a gap.
struct BarSeries {
  // Empty: not in the legend.
  std::string name;
  std::vector<double> values;
};

class GH_API BarPlot {
 public:
  std::string title;
  std::string x_label;
  // 0: from the data.
  double top = 0;
  // Pixels; at least 160.
  int width = 640;
  // Pixels; at least 120.
  int height = 240;

  // Its bars stand to the right of those added before.
  void add(BarSeries series);
  std::string svg() const;

 private:
  std::vector<BarSeries> series_;
};

// A matrix as shaded cells, dark for large values, with the numbers in them where there is room.
// Values lie in 0 … `top`; what is not finite is left blank.
class GH_API GridPlot {
 public:
  std::string title;
  std::string row_label, column_label;
  // As many as rows and columns, or empty.
  std::vector<std::string> row_names, column_names;
  // All of one length.
  std::vector<std::vector<double>> rows;
  double top = 1;
  // Pixels of the longer side; at least 120.
  int size = 400;

  // Throws Error shape when rows differ in length or names do not fit.
  std::string svg() const;
};

// Rows of small pictures with words: a heading, then pictures with a caption below each.
struct PictureCell {
  // Bytes of the file.
  std::string png;
  // May be empty.
  std::string caption;
  // With a frame.
  bool marked = false;
};

class GH_API PictureRows {
 public:
  std::string title;
  // Pixels a picture.
  int side = 64;

  void add(std::string heading, std::vector<PictureCell> cells);
  std::string svg() const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<PictureCell>> rows_;
};

// "#rrggbb" of the n-th group, in ScatterPlot and LinePlot the n-th series; repeats after eight.
// Distinguishable in light and dark and with the usual colour blindness (Okabe and Ito 2008, grey
// in place of black).
GH_API std::string plot_color(std::size_t n);

}  // namespace v1
}  // namespace gh
