#include "gh/plot.hpp"

#include "plot_canvas.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

namespace gh {
inline namespace v1 {
namespace {

using namespace plot_detail;

constexpr std::size_t kMaxDots = 3000;

void check(const PlotSeries& series) {
  require(series.x.size() == series.y.size(), ErrorCode::shape, "plot series \"", series.name,
          "\": expected as many y as x, got ", series.x.size(), " x and ", series.y.size(), " y");
}

// The dots of a scatter plot that will be drawn.
struct Dots {
  std::vector<std::vector<std::size_t>> of_series;  // indices of drawn samples
  std::size_t total = 0, inside = 0, drawn = 0;

  std::string note() const {
    std::string text;
    if (drawn < inside)
      text = std::to_string(drawn) + " of " + std::to_string(inside) + " dots drawn";
    if (inside < total)
      text +=
          (text.empty() ? "" : "; ") + std::to_string(total - inside) + " outside or not finite";
    return text;
  }
};

// Groups keep their proportions when thinned, but a small one is not thinned away: the tail is what
// these pictures are about.
Dots choose_dots(const std::vector<PlotSeries>& series, double extent) {
  Dots dots;
  for (const PlotSeries& s : series) {
    auto& inside = dots.of_series.emplace_back();
    for (std::size_t i = 0; i < s.x.size(); ++i)
      if (std::abs(s.x[i]) <= extent && std::abs(s.y[i]) <= extent) inside.push_back(i);
    dots.total += s.x.size();
    dots.inside += inside.size();
  }
  const double share =
      std::min(1.0, kMaxDots / static_cast<double>(std::max<std::size_t>(dots.inside, 1)));
  const std::size_t few =
      std::min<std::size_t>(50, kMaxDots / std::max<std::size_t>(series.size(), 1));
  for (auto& chosen : dots.of_series) {
    const std::size_t n = chosen.size();
    const auto keep =
        std::min(n, std::max(few, static_cast<std::size_t>(share * static_cast<double>(n) + 0.5)));
    for (std::size_t j = 0; j < keep; ++j) chosen[j] = chosen[j * n / keep];
    chosen.resize(keep);
    dots.drawn += keep;
  }
  return dots;
}

// Half the width of the drawing when the caller gives none.
double extent_of(const std::vector<PlotSeries>& series, bool unit_circle) {
  double most = unit_circle ? 1 : 0;
  for (const PlotSeries& s : series)
    for (std::size_t i = 0; i < s.x.size(); ++i)
      if (drawable(s.x[i]) && drawable(s.y[i]))
        most = std::max({most, std::abs(s.x[i]), std::abs(s.y[i])});
  return most > 1e-290 ? 1.1 * most : 1;
}

void draw_scales(Canvas& canvas, double extent, double top, double side) {
  const double middle = side / 2;
  const Ticks ticks = nice_ticks({-extent, extent}, 4, 0);
  for (const double value : ticks.at) {
    const double at = middle + value * middle / extent;
    if (at < 12 || at > side - 12) continue;
    const std::string label = tick_label(value, ticks.step);
    canvas.line(at, top, at, top + side, kFaint);
    canvas.line(0, top + at, side, top + at, kFaint);
    canvas.text(at, top + side - 4, label,
                "text-anchor=\"middle\" font-size=\"9\" fill-opacity=\"0.6\"");
    canvas.text(4, top + side - at + 3, label, "font-size=\"9\" fill-opacity=\"0.6\"");
  }
}

void draw_circle(Canvas& canvas, double extent, double top, double side) {
  const double middle = side / 2;
  canvas.line(middle, top, middle, top + side, kFaint);
  canvas.line(0, top + middle, side, top + middle, kFaint);
  canvas.raw("<g fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.4\">");
  canvas.dot(middle, top + middle, middle / extent);
  canvas.raw("</g>\n");
}

// The line's points, at most about four a pixel column: of each column the first, lowest, highest
// and last, so that spikes survive.
std::vector<std::size_t> visible_points(const PlotSeries& s, std::size_t begin, std::size_t end,
                                        double columns) {
  std::vector<std::size_t> out;
  const std::size_t count = end - begin;
  const std::size_t bucket = std::max<std::size_t>(1, count / static_cast<std::size_t>(columns));
  for (std::size_t i = begin; i < end; i += bucket) {
    const std::size_t stop = std::min(end, i + bucket);
    const auto [low, high] = std::minmax_element(s.y.begin() + static_cast<std::ptrdiff_t>(i),
                                                 s.y.begin() + static_cast<std::ptrdiff_t>(stop));
    std::array<std::size_t, 4> keep = {i, static_cast<std::size_t>(low - s.y.begin()),
                                       static_cast<std::size_t>(high - s.y.begin()), stop - 1};
    std::sort(keep.begin(), keep.end());
    out.insert(out.end(), keep.begin(), std::unique(keep.begin(), keep.end()));
  }
  return out;
}

void draw_marks(Canvas& canvas, const Frame& frame, const std::vector<PlotMark>& marks) {
  double free_from = 0;  // labels that would overlap the one before are left out
  for (const PlotMark& mark : marks) {
    if (!(mark.x >= frame.x.low && mark.x <= frame.x.high)) continue;
    const double at = frame.at_x(mark.x);
    canvas.line(at, frame.top - 4, at, frame.bottom,
                "stroke-dasharray=\"4 3\" stroke-opacity=\"0.6\"");
    const double half = text_width(mark.label) / 2;
    const double middle =
        std::clamp(at, frame.left + half, std::max(frame.left + half, frame.right - half));
    if (mark.label.empty() || middle - half < free_from) continue;
    canvas.text(middle, frame.top - 8, mark.label,
                "text-anchor=\"middle\" font-size=\"10\" fill-opacity=\"0.75\"");
    free_from = middle + half + 6;
  }
}

void draw_line(Canvas& canvas, const Frame& frame, const PlotSeries& s, const std::string& color) {
  const auto good = [&](std::size_t i) { return drawable(s.x[i]) && drawable(s.y[i]); };
  canvas.raw("<g fill=\"" + color + "\">\n");
  for (std::size_t begin = 0; begin < s.x.size();) {
    if (!good(begin)) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < s.x.size() && good(end)) ++end;
    if (end - begin == 1) {
      canvas.dot(frame.at_x(s.x[begin]), frame.at_y(s.y[begin]), 2.5);
    } else {
      canvas.raw("<polyline fill=\"none\" stroke=\"" + color +
                 "\" stroke-width=\"1.6\" stroke-linejoin=\"round\" points=\"");
      for (const std::size_t i : visible_points(s, begin, end, frame.right - frame.left))
        canvas.raw(px(frame.at_x(s.x[i]))).raw(",").raw(px(frame.at_y(s.y[i]))).raw(" ");
      canvas.raw("\"/>\n");
    }
    begin = end;
  }
  canvas.raw("</g>\n");
}

}  // namespace

void ScatterPlot::add(PlotSeries series) {
  check(series);
  series_.push_back(std::move(series));
}

std::string ScatterPlot::svg() const {
  const double side = std::max(size, 120), middle = side / 2;
  const bool given = drawable(extent) && extent > 1e-290;
  const double reach = given ? extent : extent_of(series_, unit_circle);
  const double scale = middle / reach;
  const Dots dots = choose_dots(series_, reach);

  Canvas canvas(side, title.empty() ? "scatter plot" : title);
  const double top = draw_title(canvas, title);
  const std::string edge = px(side - 1);
  canvas.raw("<rect x=\"0.5\" y=\"")
      .raw(px(top))
      .raw("\" width=\"")
      .raw(edge)
      .raw("\" height=\"")
      .raw(edge);
  canvas.raw("\" rx=\"4\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.2\"/>\n");
  (unit_circle ? draw_circle : draw_scales)(canvas, reach, top, side);

  std::vector<std::size_t> order(series_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return dots.of_series[a].size() > dots.of_series[b].size();
  });
  for (const std::size_t k : order) {
    canvas.raw("<g fill=\"").raw(plot_color(k)).raw("\" fill-opacity=\"0.6\">\n");
    for (const std::size_t i : dots.of_series[k])
      canvas.dot(middle + series_[k].x[i] * scale, top + middle - series_[k].y[i] * scale, 2.4);
    canvas.raw("</g>\n");
  }

  double bottom = draw_legend(canvas, series_, top + side + 6);
  if (const std::string note = dots.note(); !note.empty()) {
    canvas.text(2, bottom + 11, note, "font-size=\"10\" fill-opacity=\"0.7\"");
    bottom += 16;
  }
  return canvas.finish(bottom + 2);
}

void LinePlot::add(PlotSeries series) {
  check(series);
  series_.push_back(std::move(series));
}

std::string LinePlot::svg() const {
  const double w = std::max(width, 160), foot = x_label.empty() ? 22 : 38;
  Canvas canvas(w, title.empty() ? "line plot" : title);
  const double below_title = draw_legend(canvas, series_, draw_title(canvas, title));
  const bool labels =
      std::any_of(marks.begin(), marks.end(), [](auto& m) { return !m.label.empty(); });

  Frame frame;
  const bool whole = frame.fit(series_);
  frame.top = below_title + (labels ? 20 : 6);
  frame.bottom = std::max(frame.top + 40, std::max(height, 120) - foot);
  frame.right = w - 10;
  const Ticks y_ticks = frame.settle_y();
  const Ticks x_ticks = nice_ticks(frame.x, (frame.right - frame.left) / 70, whole ? 1 : 0);

  draw_axes(canvas, frame, x_ticks, y_ticks);
  draw_marks(canvas, frame, marks);
  for (std::size_t k = 0; k < series_.size(); ++k)
    draw_line(canvas, frame, series_[k], plot_color(k));
  canvas.text((frame.left + frame.right) / 2, frame.bottom + 32, x_label, kQuiet);
  return canvas.finish(frame.bottom + foot);
}

std::string plot_color(std::size_t n) {
  constexpr std::array<std::string_view, 8> kColors = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                       "#d55e00", "#56b4e9", "#8c8c8c", "#c9b800"};
  return std::string(kColors[n % kColors.size()]);
}

}  // namespace v1
}  // namespace gh
