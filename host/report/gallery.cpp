#include "report/gallery.hpp"

#include "report/format.hpp"
#include "report/inline_svg.hpp"
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace gh::host {
namespace {

constexpr std::size_t kRowLength = 4;  // as many as stay legible side by side on a laptop
constexpr double kLarge = 410;         // pixels; what is drawn wider is meant to be seen so

// The width a picture was made for, in pixels; 0 where it cannot be told.
double natural_width(const PictureRecord& picture) {
  if (picture.mime == "image/svg+xml") {
    constexpr std::string_view kBox = " viewBox=\"0 0 ";
    const auto at = picture.bytes.find(kBox), end = picture.bytes.find('>');
    return at < end ? std::strtod(picture.bytes.c_str() + at + kBox.size(), nullptr) : 0;
  }
  if (picture.mime != "image/png" || picture.bytes.size() < 24) return 0;
  double width = 0;  // big endian, in the first chunk
  for (std::size_t i = 16; i < 20; ++i)
    width = 256 * width + static_cast<unsigned char>(picture.bytes[i]);
  return width;
}

bool large(const PictureRecord& picture) { return natural_width(picture) > kLarge; }

// All pictures of one name from one evaluator, in order of time or of runs.
struct Series {
  std::string name;
  std::vector<Figure> figures;

  bool still() const {
    const std::string& first = figures.front().picture->bytes;
    return std::all_of(figures.begin(), figures.end(),
                       [&](const Figure& f) { return f.picture->bytes == first; });
  }
};

void add(std::vector<Series>& all, const PictureRecord& picture, const std::string& heading,
         const ResultRecord& result) {
  auto it = std::find_if(all.begin(), all.end(), [&](auto& s) { return s.name == picture.name; });
  if (it == all.end()) it = all.insert(it, {picture.name, {}});
  // Which picture this is, and when it was taken unless the heading says so.
  const std::string epoch = epoch_beside(heading, result.epoch);
  it->figures.push_back(
      {heading, epoch.empty() ? picture.name : picture.name + " · " + epoch, &picture});
}

// Pictures that are read across: a row for each, and those that do not change before the first.
std::string rows_of(const std::vector<Series>& all, Gallery& gallery) {
  std::vector<Figure> singles;
  std::vector<std::vector<Figure>> rows;
  for (const Series& s : all) {
    if (s.figures.size() == 1) {
      singles.push_back(s.figures.front());
    } else if (s.still()) {
      singles.push_back({s.name, "same at every moment", s.figures.front().picture});
    } else {
      rows.push_back(s.figures);
    }
  }
  if (!rows.empty() && singles.size() + rows.front().size() <= kRowLength) {
    rows.front().insert(rows.front().begin(), singles.begin(), singles.end());
  } else {
    rows.insert(rows.begin(), singles);
  }
  std::string out;
  for (const auto& row : rows) out += gallery.row(row);
  return out;
}

// The last moment of each side by side. The page says when `newest` was; what is older says so
// itself.
std::string last_of(const std::vector<Series>& all, const ResultRecord& newest, Gallery& gallery) {
  std::vector<Figure> last;
  for (const Series& s : all) {
    last.push_back(s.figures.back());
    for (const PictureRecord& picture : newest.pictures)
      if (&picture == last.back().picture) last.back().heading.clear();
  }
  return gallery.row(last);
}

// Pictures to be read across moments, and those to be seen large.
struct Sorted {
  std::vector<Series> small, wide;
};

Sorted sorted_pictures(const EvaluatorSeries& series) {
  Sorted out;
  for (const ResultRecord* result : series.shown())
    for (const PictureRecord& picture : result->pictures)
      add(large(picture) ? out.wide : out.small, picture, moment_label(*result), *result);
  return out;
}

}  // namespace

std::string Gallery::image(const PictureRecord& picture) {
  constexpr std::array<std::string_view, 5> kImages = {"image/svg+xml", "image/png", "image/jpeg",
                                                       "image/webp", "image/gif"};
  if (!picture.problem.empty())
    return fmt::format("<p class=\"absent\">{}</p>\n", escape_html(picture.problem));
  if (std::find(kImages.begin(), kImages.end(), picture.mime) == kImages.end())
    return fmt::format("<p class=\"absent\">cannot show {}</p>\n", escape_html(picture.mime));
  if (picture.mime == "image/svg+xml") {
    const auto svg = inline_svg(picture.bytes, fmt::format("p{}-", ++drawn_));
    if (svg) return *svg + "\n";
  }
  return fmt::format("<img alt=\"{}\" src=\"data:{};base64,{}\">\n", escape_html(picture.name),
                     picture.mime, base64(picture.bytes));
}

std::string Gallery::row(std::span<const Figure> figures, Row kind) {
  if (figures.empty()) return {};
  std::string out = kind == Row::pair ? "<div class=\"row pair\">\n" : "<div class=\"row\">\n";
  std::string caption;
  for (const Figure& figure : figures) {
    out += large(*figure.picture) ? fmt::format("<figure class=\"large\" style=\"--w:{:.0f}px\">",
                                                natural_width(*figure.picture))
                                  : "<figure>";
    if (!figure.heading.empty())
      out += fmt::format("<header><b>{}</b> <span>{}</span></header>\n",
                         escape_html(figure.heading), escape_html(figure.detail));
    out += "<div class=\"scroll\">" + image(*figure.picture) + "</div>\n";
    if (figure.picture->caption != caption) {
      caption = figure.picture->caption;
      out += fmt::format("<figcaption>{}</figcaption>\n", escape_html(caption));
    }
    out += "</figure>\n";
  }
  return out + "</div>\n";
}

std::string series_pictures(const EvaluatorSeries& series, Gallery& gallery) {
  Sorted pictures = sorted_pictures(series);
  if (series.shown().size() == 1)  // which the page has said
    for (Series& s : pictures.small) s.figures = {{s.name, "", s.figures.back().picture}};
  return last_of(pictures.wide, series.last(), gallery) + rows_of(pictures.small, gallery);
}

std::string earlier_pictures(const EvaluatorSeries& series, Gallery& gallery) {
  std::string out;
  for (const Series& s : sorted_pictures(series).wide)
    if (!s.still()) out += gallery.row(std::span(s.figures).first(s.figures.size() - 1), Row::pair);
  return out;
}

std::string compared_pictures(const EvaluatorMatch& match, std::span<const std::string> labels,
                              Gallery& gallery) {
  std::vector<Series> all;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < match.of_run.size(); ++i) {
    if (!match.of_run[i]) continue;
    ++runs;
    const ResultRecord& result = match.of_run[i]->last();
    for (const PictureRecord& picture : result.pictures) add(all, picture, labels[i], result);
  }
  std::string out;
  for (Series& s : all) {
    if (runs > 1 && s.figures.size() == runs && s.still())
      s.figures = {{s.name, "same in every run", s.figures.front().picture}};
    out += gallery.row(s.figures, Row::pair);
  }
  return out;
}

}  // namespace gh::host
