// Plots made of rectangles: bars, shaded matrices, rows of pictures.
#include "plot_canvas.hpp"

#include "gh/error.hpp"
#include "gh/plot.hpp"

#include <algorithm>
#include <cmath>

namespace gh {
inline namespace v1 {
namespace {

using namespace plot_detail;

void rectangle(Canvas& canvas, double x, double y, double width, double height,
               std::string_view style) {
  canvas.raw("<rect x=\"").raw(px(x)).raw("\" y=\"").raw(px(y)).raw("\" width=\"").raw(px(width));
  canvas.raw("\" height=\"").raw(px(height)).raw("\" ").raw(style).raw("/>\n");
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j)
      word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += i + j > bytes.size() ? '=' : kDigits[word >> (18 - 6 * j) & 63];
  }
  return out;
}

// Cuts text to what fits into `width`.
std::string fitted(const std::string& text, double width) {
  if (text_width(text) <= width) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t n = 1;
    while (i + n < text.size() && (static_cast<unsigned char>(text[i + n]) & 0xC0) == 0x80) ++n;
    if (text_width(out) + 2 * kCharacter > width) break;
    out += text.substr(i, n);
    i += n;
  }
  return out + "…";
}

}  // namespace

void BarPlot::add(BarSeries series) { series_.push_back(std::move(series)); }

std::string BarPlot::svg() const {
  const double w = std::max(width, 160), foot = x_label.empty() ? 8 : 24;
  Canvas canvas(w, title.empty() ? "bar plot" : title);
  std::vector<PlotSeries> names;
  std::size_t bars = 0;
  Range range{0, top > 0 ? top : 0};
  for (const BarSeries& s : series_) {
    names.push_back({s.name, {}, {}});
    bars += s.values.size();
    if (top <= 0)
      for (const double value : s.values)
        if (drawable(value)) range.include(value);
  }
  range.widen_if_flat();
  range.low = std::min(range.low, 0.0);
  const double head = draw_legend(canvas, names, draw_title(canvas, title)) + 6;
  const double bottom = std::max(head + 40, std::max(height, 120) - foot);
  const Ticks ticks = nice_ticks(range, (bottom - head) / 36, 0);
  double left = 0;
  for (const double value : ticks.at)
    left = std::max(left, 12 + text_width(tick_label(value, ticks.step)));
  const auto at_y = [&](double value) {
    return bottom -
           (std::clamp(value, range.low, range.high) - range.low) / range.span() * (bottom - head);
  };
  for (const double value : ticks.at) {
    canvas.line(left, at_y(value), w - 6, at_y(value), kFaint);
    canvas.text(left - 6, at_y(value) + 4, tick_label(value, ticks.step),
                "text-anchor=\"end\" fill-opacity=\"0.75\"");
  }
  const double step = (w - 6 - left) / static_cast<double>(std::max<std::size_t>(bars, 1));
  const double thick = step > 4 ? step - 1 : step * 0.85;
  double x = left;
  for (std::size_t k = 0; k < series_.size(); ++k) {
    canvas.raw("<g fill=\"").raw(plot_color(k)).raw("\">\n");
    for (const double value : series_[k].values) {
      if (drawable(value)) {
        const double y = at_y(value), zero = at_y(0);
        // Zero is a thin line, so that it can be told from a gap.
        rectangle(canvas, x, std::min(y, zero - 0.8), thick, std::max(std::abs(zero - y), 0.8), "");
      }
      x += step;
    }
    canvas.raw("</g>\n");
  }
  canvas.line(left, at_y(0), w - 6, at_y(0), kAxis);
  canvas.text((left + w - 6) / 2, bottom + 18, x_label, kQuiet);
  return canvas.finish(bottom + foot);
}

std::string GridPlot::svg() const {
  const std::size_t tall = rows.size(), wide = tall == 0 ? 0 : rows.front().size();
  for (const auto& row : rows)
    require(row.size() == wide, ErrorCode::shape, "grid plot: rows of ", wide, " and ", row.size(),
            " cells");
  require(row_names.empty() || row_names.size() == tall, ErrorCode::shape,
          "grid plot: ", row_names.size(), " names for ", tall, " rows");
  require(column_names.empty() || column_names.size() == wide, ErrorCode::shape,
          "grid plot: ", column_names.size(), " names for ", wide, " columns");
  double names = 0;
  for (const std::string& name : row_names) names = std::max(names, text_width(name) + 8);
  const double left = (row_label.empty() ? 2 : 20) + names;
  const double cell =
      std::max(size, 120) / static_cast<double>(std::max({tall, wide, std::size_t{1}}));
  Canvas canvas(left + cell * static_cast<double>(wide) + 2, title.empty() ? "matrix" : title);
  const double head = draw_title(canvas, title) + 4;
  for (std::size_t i = 0; i < tall; ++i) {
    const double y = head + cell * static_cast<double>(i);
    if (!row_names.empty())
      canvas.text(left - 6, y + cell / 2 + 4, row_names[i], "text-anchor=\"end\"");
    for (std::size_t j = 0; j < wide; ++j) {
      const double value = rows[i][j], x = left + cell * static_cast<double>(j);
      if (!drawable(value)) continue;
      const double part = std::clamp(value / (top > 0 ? top : 1), 0.0, 1.0);
      // The root lifts small shares, which mistakes are, out of the background.
      rectangle(
          canvas, x, y, cell - 0.5, cell - 0.5,
          "fill=\"#0072b2\" fill-opacity=\"" + fixed(0.04 + 0.92 * std::sqrt(part), 2) + "\"");
      if (cell < 26) continue;
      const int digits = top >= 10 ? 0 : 2;
      canvas.text(x + cell / 2, y + cell / 2 + 3.5, fixed(value, digits),
                  part > 0.2 ? "text-anchor=\"middle\" font-size=\"10\" fill=\"#ffffff\""
                             : "text-anchor=\"middle\" font-size=\"10\"");
    }
  }
  double bottom = head + cell * static_cast<double>(tall);
  if (!column_names.empty()) {
    for (std::size_t j = 0; j < wide; ++j)
      canvas.text(left + cell * (static_cast<double>(j) + 0.5), bottom + 13,
                  fitted(column_names[j], cell), "text-anchor=\"middle\"");
    bottom += 16;
  }
  if (!row_label.empty()) {
    const std::string y = px(head + cell * static_cast<double>(tall) / 2);
    canvas.text(
        13, head + cell * static_cast<double>(tall) / 2, row_label,
        "text-anchor=\"middle\" fill-opacity=\"0.75\" transform=\"rotate(-90 13 " + y + ")\"");
  }
  if (!column_label.empty()) {
    canvas.text(left + cell * static_cast<double>(wide) / 2, bottom + 15, column_label, kQuiet);
    bottom += 20;
  }
  return canvas.finish(bottom + 2);
}

void PictureRows::add(std::string heading, std::vector<PictureCell> cells) {
  headings_.push_back(std::move(heading));
  rows_.push_back(std::move(cells));
}

std::string PictureRows::svg() const {
  const double edge = std::max(side, 16), step = edge + 8;
  std::size_t longest = 1;
  for (const auto& row : rows_) longest = std::max(longest, row.size());
  double w = step * static_cast<double>(longest);
  for (const std::string& heading : headings_) w = std::max(w, text_width(heading) + 4);
  Canvas canvas(w, title.empty() ? "pictures" : title);
  double y = draw_title(canvas, title);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    canvas.text(1, y + 13, headings_[i], "font-weight=\"600\"");
    y += 20;
    for (std::size_t j = 0; j < rows_[i].size(); ++j) {
      const PictureCell& cell = rows_[i][j];
      const double x = step * static_cast<double>(j) + 2;
      canvas.raw("<image x=\"").raw(px(x)).raw("\" y=\"").raw(px(y)).raw("\" width=\"");
      canvas.raw(px(edge)).raw("\" height=\"").raw(px(edge));
      canvas.raw("\" image-rendering=\"pixelated\" href=\"data:image/png;base64,");
      canvas.raw(base64_of(cell.png)).raw("\"/>\n");
      if (cell.marked)
        rectangle(canvas, x - 1.5, y - 1.5, edge + 3, edge + 3,
                  "fill=\"none\" stroke=\"#009e73\" stroke-width=\"2.5\"");
      canvas.text(x + edge / 2, y + edge + 12, fitted(cell.caption, edge + 6),
                  "text-anchor=\"middle\" font-size=\"10\"");
    }
    y += edge + 26;
  }
  return canvas.finish(y);
}

}  // namespace v1
}  // namespace gh
