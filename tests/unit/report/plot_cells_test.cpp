#include "markup.hpp"

#include "gh/error.hpp"
#include "gh/plot.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>

namespace {

using namespace gh;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

void check_clean(const std::string& svg) {
  CHECK(test::markup_fault(svg) == "");
  CHECK(svg.find("nan") == svg.npos);
  CHECK(svg.find("id=\"") == svg.npos);
}

TEST_CASE("a bar is as high as its value; what is not finite is a gap, zero a line") {
  BarPlot plot;
  plot.top = 100;
  plot.width = 400;
  plot.add({"many", {100, 50}});
  plot.add({"few", {0, std::numeric_limits<double>::quiet_NaN()}});
  const std::string svg = plot.svg();
  check_clean(svg);
  CHECK(count(svg, "<rect") == 3);
  const auto height = [&](std::size_t which) {
    std::size_t at = 0;
    for (std::size_t i = 0; i <= which; ++i) at = svg.find("<rect", at + 1);
    at = svg.find("height=\"", at) + 8;
    return std::stod(svg.substr(at));
  };
  CHECK(height(1) == Approx(height(0) / 2).margin(0.11));
  CHECK(height(2) == Approx(0.8).margin(0.01));
  CHECK(svg.find(plot_color(1)) != svg.npos);
}

TEST_CASE("a matrix has a cell for every finite value and numbers where they fit") {
  GridPlot plot;
  plot.rows = {{1, 0.25}, {std::numeric_limits<double>::quiet_NaN(), 0}};
  plot.row_names = {"head", "tail & <rest>"};
  plot.column_names = {"head", "tail"};
  plot.row_label = "true";
  const std::string svg = plot.svg();
  check_clean(svg);
  CHECK(count(svg, "<rect") == 3);
  CHECK(svg.find(">0.25<") != svg.npos);
  CHECK(svg.find("fill-opacity=\"0.96\"") != svg.npos);
  plot.rows[1].pop_back();
  CHECK_THROWS_AS(plot.svg(), Error);
}

TEST_CASE("rows of pictures carry their bytes, captions and frames") {
  PictureRows plot;
  plot.add("owl", {{"Man", "owl", true}, {"Ma", "a name that is far too long for it", false}});
  const std::string svg = plot.svg();
  check_clean(svg);
  CHECK(svg.find("base64,TWFu\"") != svg.npos);
  CHECK(svg.find("base64,TWE=\"") != svg.npos);
  CHECK(count(svg, "<rect") == 1);
  CHECK(svg.find("…") != svg.npos);
}

}  // namespace
