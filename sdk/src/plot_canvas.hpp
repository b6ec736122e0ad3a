// What the plots of this folder are made of: text and numbers as SVG wants them, ranges, ticks, a
// canvas.
#pragma once

#include "gh/plot.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace gh::plot_detail {

inline constexpr std::string_view kFaint = "stroke-opacity=\"0.13\"";
inline constexpr std::string_view kAxis = "stroke-opacity=\"0.45\"";
inline constexpr std::string_view kQuiet = "text-anchor=\"middle\" fill-opacity=\"0.75\"";

inline constexpr double kFont = 11;
inline constexpr double kCharacter = 6.2;  // mean advance at kFont; SVG cannot measure text

// Beyond this a range overflows when two values are subtracted.
inline bool drawable(double value) { return std::isfinite(value) && std::abs(value) < 1e300; }

// XML 1.0 cannot express control characters other than tab and newline; they go.
inline std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '&' || c == '<' || c == '>' || c == '"';
    if (special) {
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n') {
      out += c;
    }
  }
  return out;
}

// std::to_chars and not printf: a decimal comma from the user's locale would break the drawing.
inline std::string fixed(double value, int decimals) {
  std::array<char, 400> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

// A tenth of a pixel: finer is invisible and makes files larger.
inline std::string px(double value) {
  std::string text = fixed(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

inline double text_width(std::string_view text) {
  const auto continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  const auto extra = std::count_if(text.begin(), text.end(), continuation);
  return kCharacter * static_cast<double>(text.size() - static_cast<std::size_t>(extra));
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return !(low <= high); }
  double span() const { return high - low; }
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Leaves room around a constant, where a scale would otherwise divide by zero.
  void widen_if_flat() {
    if (empty()) *this = {0, 1};
    const double magnitude = std::max(std::abs(low), std::abs(high));
    if (span() > 1e-9 * magnitude && span() > 1e-300) return;
    const double room = magnitude > 1e-290 ? 0.1 * magnitude : 1;
    low -= room;
    high += room;
  }
};

struct Ticks {
  std::vector<double> at;
  double step = 1;
};

// Multiples of 1, 2 or 5 times a power of ten inside the range, about `wanted` of them.
inline Ticks nice_ticks(const Range& range, double wanted, double least_step) {
  const double rough = range.span() / std::max(wanted, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power;
  Ticks ticks;
  const double nice = lead <= 1.5 ? 1 : lead <= 3.5 ? 2 : lead <= 7.5 ? 5 : 10;
  ticks.step = std::max(power * nice, least_step);
  const double slack = 1e-9 * range.span();
  const double first = std::ceil((range.low - slack) / ticks.step);
  for (int i = 0; i < 50; ++i) {
    const double value = (first + i) * ticks.step;
    if (value > range.high + slack) break;
    ticks.at.push_back(value);
  }
  return ticks;
}

// As many digits as tell two neighbouring ticks apart.
inline std::string tick_label(double value, double step) {
  const double size = std::abs(value);
  if (size < 1e-6 * step) return "0";
  const int last_digit = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  if (size < 1e6 && (last_digit >= -4 || size > 0.01))
    return fixed(value, std::max(0, -last_digit));
  const int digits = static_cast<int>(std::floor(std::log10(size) + 1e-9)) - last_digit;
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific, std::clamp(digits, 0, 16));
  std::string text(buffer.data(), end.ptr);
  std::size_t exponent = text.find('e');
  if (text.find('.') == text.npos) return text;
  while (text[exponent - 1] == '0') text.erase(--exponent, 1);
  if (text[exponent - 1] == '.') text.erase(exponent - 1, 1);
  return text;
}

// The little of SVG that plots need, appended to one string.
class Canvas {
 public:
  Canvas(double width, std::string_view label) : width_(width), label_(label) {}
  double width() const { return width_; }

  Canvas& raw(std::string_view text) {
    body_ += text;
    return *this;
  }
  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    raw("<line x1=\"").raw(px(x1)).raw("\" y1=\"").raw(px(y1)).raw("\" x2=\"").raw(px(x2));
    raw("\" y2=\"").raw(px(y2)).raw("\" stroke=\"currentColor\" ").raw(style).raw("/>\n");
  }
  void dot(double x, double y, double radius) {
    raw("<circle cx=\"").raw(px(x)).raw("\" cy=\"").raw(px(y)).raw("\" r=\"").raw(px(radius));
    raw("\"/>\n");
  }
  void text(double x, double y, std::string_view words, std::string_view style) {
    if (words.empty()) return;
    raw("<text x=\"").raw(px(x)).raw("\" y=\"").raw(px(y)).raw("\" ").raw(style).raw(">");
    raw(escape(words)).raw("</text>\n");
  }
  std::string finish(double height) const {
    const std::string w = px(width_), h = px(height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
           "\" viewBox=\"0 0 " + w + " " + h + "\" role=\"img\" aria-label=\"" + escape(label_) +
           "\" font-family=\"system-ui, sans-serif\" font-size=\"" + px(kFont) +
           "\" fill=\"currentColor\">\n" + body_ + "</svg>\n";
  }

 private:
  double width_;
  std::string label_;
  std::string body_;
};

// Returns the y below.
inline double draw_title(Canvas& canvas, const std::string& title) {
  if (title.empty()) return 6;
  canvas.text(1, 15, title, "font-size=\"13\" font-weight=\"600\"");
  return 24;
}

// Names with a dot of their colour, in as many rows as they need; returns the y below.
inline double draw_legend(Canvas& canvas, const std::vector<PlotSeries>& series, double y) {
  constexpr double kRow = 18, kLeft = 2;
  constexpr std::size_t kMaxLegend = 12;
  double at = kLeft;
  const auto place = [&](double width) {
    if (at > kLeft && at + width > canvas.width()) {
      at = kLeft;
      y += kRow;
    }
  };
  std::size_t named = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].name.empty() || ++named > kMaxLegend) continue;
    const double width = 14 + text_width(series[i].name);
    place(width);
    canvas.raw("<g fill=\"").raw(plot_color(i)).raw("\">").dot(at + 4, y + 8, 4);
    canvas.raw("</g>").text(at + 12, y + 12, series[i].name, "");
    at += width + 12;
  }
  if (named > kMaxLegend) {
    const std::string rest = "and " + std::to_string(named - kMaxLegend) + " more";
    place(text_width(rest));
    canvas.text(at, y + 12, rest, "fill-opacity=\"0.7\"");
  }
  return named > 0 ? y + kRow + 2 : y;
}

// The rectangle of a line plot and the data it shows.
struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;
  Range x, y;

  double at_x(double value) const { return left + (value - x.low) / x.span() * (right - left); }
  double at_y(double value) const { return bottom - (value - y.low) / y.span() * (bottom - top); }

  // Takes the ranges from the data; true when x counts something (epochs), which has no halves.
  bool fit(const std::vector<PlotSeries>& series) {
    bool whole = true;
    for (const PlotSeries& s : series)
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        if (!drawable(s.x[i])) continue;
        x.include(s.x[i]);  // even without a y, so that plots of one run share their x axis
        whole = whole && s.x[i] == std::floor(s.x[i]);
        if (drawable(s.y[i])) y.include(s.y[i]);
      }
    if (x.low == x.high && whole) x = {x.low - 1, x.high + 1};
    x.widen_if_flat();
    y.widen_if_flat();
    return whole;
  }

  // Widens y to whole ticks and makes room for their labels at the left; needs top and bottom.
  Ticks settle_y() {
    const double step = nice_ticks(y, (bottom - top) / 36, 0).step;
    y.low = std::floor(y.low / step + 1e-9) * step;
    y.high = std::ceil(y.high / step - 1e-9) * step;
    const Ticks ticks = nice_ticks(y, y.span() / step, step);
    for (const double value : ticks.at)
      left = std::max(left, 12 + text_width(tick_label(value, step)));
    return ticks;
  }
};

inline void draw_y_axis(Canvas& canvas, const Frame& frame, const Ticks& ticks) {
  for (const double value : ticks.at) {
    const double at = frame.at_y(value);
    canvas.line(frame.left, at, frame.right, at, kFaint);
    canvas.text(frame.left - 6, at + 4, tick_label(value, ticks.step),
                "text-anchor=\"end\" fill-opacity=\"0.75\"");
  }
  canvas.line(frame.left, frame.bottom, frame.right, frame.bottom, kAxis);
}

inline void draw_x_tick(Canvas& canvas, const Frame& frame, double value, std::string_view label) {
  const double at = frame.at_x(value);
  canvas.line(at, frame.bottom, at, frame.bottom + 4, kAxis);
  canvas.text(at, frame.bottom + 16, label, kQuiet);
}

inline void draw_axes(Canvas& canvas, const Frame& frame, const Ticks& x, const Ticks& y) {
  draw_y_axis(canvas, frame, y);
  for (const double value : x.at) draw_x_tick(canvas, frame, value, tick_label(value, x.step));
}

}  // namespace gh::plot_detail
