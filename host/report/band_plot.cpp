#include "report/band_plot.hpp"

#include "plot_canvas.hpp"

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

using namespace plot_detail;

constexpr std::size_t kPlaces = 8;  // as many as colours
constexpr double kAside = 2.2;      // pixels

// Runs of points that can be drawn: [begin, end).
std::vector<std::pair<std::size_t, std::size_t>> pieces(const BandSeries& s) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    if (!drawable(s.x[i]) || !drawable(s.y[i])) continue;
    if (out.empty() || out.back().second != i) out.emplace_back(i, i);
    out.back().second = i + 1;
  }
  return out;
}

class Drawing {
 public:
  Drawing(Canvas& canvas, const Frame& frame, bool logarithmic)
      : canvas_(canvas), frame_(frame), logarithmic_(logarithmic) {}

  double at_x(double x) const { return frame_.at_x(logarithmic_ ? std::log10(x) : x) + aside_; }

  // Bars of several series stand beside each other and not on top.
  void step_aside(std::size_t series, std::size_t of) {
    const auto places = static_cast<double>(std::min(of, kPlaces));
    aside_ = kAside * (static_cast<double>(series % kPlaces) - (places - 1) / 2);
  }

  void point(double x, double y) {
    canvas_.raw(px(at_x(x))).raw(",").raw(px(frame_.at_y(y))).raw(" ");
  }

  void line(const BandSeries& s, std::size_t begin, std::size_t end) {
    if (end - begin == 1) return canvas_.dot(at_x(s.x[begin]), frame_.at_y(s.y[begin]), 2.5);
    canvas_.raw("<polyline class=\"l\" points=\"");
    for (std::size_t i = begin; i < end; ++i) point(s.x[i], s.y[i]);
    canvas_.raw("\"/>\n");
  }

  void band(const BandSeries& s, std::size_t begin, std::size_t end) {
    bool wide = false;
    for (std::size_t i = begin; i < end; ++i) wide = wide || s.high[i] > s.low[i];
    if (!wide || end - begin < 2) return;
    canvas_.raw("<polygon class=\"b\" points=\"");
    for (std::size_t i = begin; i < end; ++i) point(s.x[i], s.high[i]);
    for (std::size_t i = end; i-- > begin;) point(s.x[i], s.low[i]);
    canvas_.raw("\"/>\n");
  }

  void bar(const BandSeries& s, std::size_t i) {
    const double x = at_x(s.x[i]);
    canvas_.dot(x, frame_.at_y(s.y[i]), 3.5);
    if (!(s.high[i] > s.low[i])) return;
    const double low = frame_.at_y(s.low[i]), high = frame_.at_y(s.high[i]);
    canvas_.raw("<path class=\"l\" d=\"");
    canvas_.raw("M").raw(px(x)).raw(",").raw(px(low)).raw("V").raw(px(high));
    for (const double y : {low, high})
      canvas_.raw("M").raw(px(x - 3)).raw(",").raw(px(y)).raw("h6");
    canvas_.raw("\"/>\n");
  }

 private:
  Canvas& canvas_;
  const Frame& frame_;
  bool logarithmic_;
  double aside_ = 0;  // pixels
};

// Texts that would touch the one before are left out.
void draw_given_ticks(Canvas& canvas, const Frame& frame, const BandPlot& plot) {
  double free_from = 0;
  for (const auto& [value, text] : plot.ticks) {
    const double at = plot.logarithmic ? std::log10(value) : value;
    const double middle = frame.at_x(at), half = text_width(text) / 2;
    const bool room = middle - half >= free_from;
    draw_x_tick(canvas, frame, at, room ? text : "");
    if (room) free_from = middle + half + 6;
  }
}

void draw_levels(Canvas& canvas, const Frame& frame, const BandPlot& plot) {
  for (const auto& [name, value] : plot.levels)
    canvas.line(frame.left, frame.at_y(value), frame.right, frame.at_y(value),
                "stroke-dasharray=\"6 3\" stroke-opacity=\"0.7\"");
}

// Above the dashed lines, and above what crosses them.
void name_levels(Canvas& canvas, const Frame& frame, const BandPlot& plot) {
  for (const auto& [name, value] : plot.levels)
    canvas.text(frame.right, frame.at_y(value) - 4, name,
                "class=\"halo\" text-anchor=\"end\" font-size=\"10\"");
}

}  // namespace

std::string BandPlot::svg() const {
  const double foot = x_label.empty() ? 22 : 38;
  Canvas canvas(width, title.empty() ? "plot" : title);
  Frame frame;
  std::vector<PlotSeries> extent;
  for (const BandSeries& s : series_) {
    std::vector<double> x = s.x;
    if (logarithmic)
      std::transform(x.begin(), x.end(), x.begin(), [](double v) { return std::log10(v); });
    for (const auto* y : {&s.y, &s.low, &s.high}) extent.push_back({"", x, *y});
  }
  for (const auto& [name, value] : levels) frame.y.include(value);
  const bool whole = frame.fit(extent);
  if (!ticks.empty()) {  // points at the sides keep a distance from them
    const double room = 0.06 * frame.x.span();
    frame.x = {frame.x.low - room, frame.x.high + room};
  }
  frame.top = draw_title(canvas, title) + 6;
  frame.bottom = height - foot;
  frame.right = width - 10;
  const Ticks y_ticks = frame.settle_y();
  draw_y_axis(canvas, frame, y_ticks);
  if (ticks.empty()) {
    const Ticks x_ticks = nice_ticks(frame.x, (frame.right - frame.left) / 70, whole ? 1 : 0);
    for (const double value : x_ticks.at)
      draw_x_tick(canvas, frame, value, tick_label(value, x_ticks.step));
  } else {
    draw_given_ticks(canvas, frame, *this);
  }
  for (const PlotMark& mark : marks)
    if (mark.x >= frame.x.low && mark.x <= frame.x.high)
      canvas.line(frame.at_x(mark.x), frame.top - 4, frame.at_x(mark.x), frame.bottom,
                  "stroke-dasharray=\"4 3\" stroke-opacity=\"0.6\"");
  draw_levels(canvas, frame, *this);
  Drawing drawing(canvas, frame, logarithmic);
  for (std::size_t k = 0; k < series_.size(); ++k) {
    const BandSeries& s = series_[k];
    if (style == Style::bars) drawing.step_aside(k, series_.size());
    canvas.raw(s.off ? "<g class=\"s off\"" : "<g class=\"s\"");
    canvas.raw(" style=\"--c:").raw(s.color).raw("\" data-of=\"").raw(s.id).raw("\"><title>");
    canvas.raw(escape(s.name)).raw("</title>\n");
    for (const auto& [begin, end] : pieces(s)) {
      if (style == Style::band) drawing.band(s, begin, end);
      if (style == Style::band || end - begin > 1) drawing.line(s, begin, end);
      if (style == Style::bars)
        for (std::size_t i = begin; i < end; ++i) drawing.bar(s, i);
    }
    canvas.raw("</g>\n");
  }
  name_levels(canvas, frame, *this);
  canvas.text((frame.left + frame.right) / 2, frame.bottom + 32, x_label, kQuiet);
  return canvas.finish(height);
}

}  // namespace gh::host
