#include "report/pictures.hpp"

#include "report/format.hpp"
#include "report/inline_svg.hpp"
#include "report/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gh::host {
namespace {

constexpr std::size_t kRowLength = 4;  // as many as stay legible side by side on a laptop

// All pictures of one name from one evaluator, in order of time or of runs.
struct Series {
  std::string evaluator;
  std::string slot;
  std::string name;
  std::vector<Figure> figures;

  bool still() const {
    const std::string& first = figures.front().picture->bytes;
    return std::all_of(figures.begin(), figures.end(),
                       [&](const Figure& f) { return f.picture->bytes == first; });
  }
};

Series& series_for(std::vector<Series>& all, const ResultRecord& result, const std::string& name,
                   bool match_slot) {
  for (Series& s : all)
    if (s.evaluator == result.evaluator && s.name == name && (!match_slot || s.slot == result.slot))
      return s;
  all.push_back({result.evaluator, result.slot, name, {}});
  return all.back();
}

// Which picture this is, and when it was taken unless the heading says so.
std::string detail(const std::string& name, const std::string& heading,
                   const ResultRecord& result) {
  const std::string epoch = epoch_beside(heading, result.epoch);
  return epoch.empty() ? name : name + " · " + epoch;
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

std::string Gallery::row(std::span<const Figure> figures) {
  if (figures.empty()) return {};
  std::string out = "<div class=\"row\">\n", caption;
  for (const Figure& figure : figures) {
    out += fmt::format("<figure><header><b>{}</b> <span>{}</span></header>\n",
                       escape_html(figure.heading), escape_html(figure.detail));
    out += image(*figure.picture);
    if (figure.picture->caption != caption) {
      caption = figure.picture->caption;
      out += fmt::format("<figcaption>{}</figcaption>\n", escape_html(caption));
    }
    out += "</figure>\n";
  }
  return out + "</div>\n";
}

std::string run_pictures(const RunRecord& run, Gallery& gallery) {
  std::vector<Series> all;
  for (const ResultRecord& result : run.results)
    for (const PictureRecord& picture : result.pictures) {
      const std::string& heading = result.label.empty() ? result.moment : result.label;
      series_for(all, result, picture.name, true)
          .figures.push_back({heading, detail(picture.name, heading, result), &picture});
    }

  std::string out;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    std::vector<Figure> singles;
    std::vector<std::vector<Figure>> rows;
    for (;
         end < all.size() && all[end].slot == all[i].slot && all[end].evaluator == all[i].evaluator;
         ++end) {
      const Series& s = all[end];
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
    for (const auto& row : rows) out += gallery.row(row);
    i = end;
  }
  return out;
}

std::string compared_pictures(std::span<const RunRecord> runs, std::span<const std::string> labels,
                              Gallery& gallery) {
  std::vector<Series> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const ResultRecord& result : runs[i].results)
      for (const PictureRecord& picture : result.pictures) {
        auto& figures = series_for(all, result, picture.name, false).figures;
        const Figure figure{labels[i], detail(picture.name, labels[i], result), &picture};
        // Later moments replace earlier ones of the same run.
        if (!figures.empty() && figures.back().heading == labels[i]) figures.pop_back();
        figures.push_back(figure);
      }
  }
  std::string out;
  for (Series& s : all) {
    if (runs.size() > 1 && s.figures.size() == runs.size() && s.still())
      s.figures = {{s.name, "same in every run", s.figures.front().picture}};
    out += gallery.row(s.figures);
  }
  return out;
}

}  // namespace gh::host
