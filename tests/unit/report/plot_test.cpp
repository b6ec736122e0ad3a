#include "gh/plot.hpp"

#include "gh/error.hpp"
#include "unit/report/markup.hpp"
#include "unit/report/run_fixture.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <string_view>

namespace {

using gh::test::count;
using gh::test::markup_fault;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

gh::PlotSeries ring(const std::string& name, int n) {
  gh::PlotSeries series{name, {}, {}};
  for (int i = 0; i < n; ++i) {
    series.x.push_back(std::cos(i));
    series.y.push_back(std::sin(i));
  }
  return series;
}

gh::PlotSeries line(std::vector<double> y) {
  gh::PlotSeries series{"line", {}, std::move(y)};
  for (std::size_t i = 0; i < series.y.size(); ++i) series.x.push_back(static_cast<double>(i + 1));
  return series;
}

void check_clean(const std::string& svg) {
  CHECK(markup_fault(svg) == "");
  CHECK(svg.find("nan") == svg.npos);
  CHECK(svg.find("inf") == svg.npos);
  CHECK(svg.find("id=\"") == svg.npos);
}

// The points of every polyline, one string each.
std::vector<std::string> polylines(const std::string& svg) {
  constexpr std::string_view kBegin = "points=\"";
  std::vector<std::string> out;
  for (auto at = svg.find(kBegin); at != std::string::npos; at = svg.find(kBegin, at)) {
    at += kBegin.size();
    out.push_back(svg.substr(at, svg.find('"', at) - at));
  }
  return out;
}

}  // namespace

TEST_CASE("a scatter plot puts the axes' ends where the extent says") {
  gh::ScatterPlot plot;
  plot.size = 200;
  plot.extent = 2;
  plot.add({"", {-2, 0, 2}, {2, 0, -2}});
  const std::string svg = plot.svg();
  check_clean(svg);
  CHECK(count(svg, "<circle cx=\"0\" cy=\"6\"") == 1);  // no title: the frame begins at y = 6
  CHECK(count(svg, "<circle cx=\"100\" cy=\"106\"") == 1);
  CHECK(count(svg, "<circle cx=\"200\" cy=\"206\"") == 1);
}

TEST_CASE("the unit circle has radius 1 in data units") {
  gh::ScatterPlot plot;
  plot.size = 200;
  plot.extent = 1.25;
  plot.unit_circle = true;
  CHECK(count(plot.svg(), "r=\"80\"") == 1);
}

TEST_CASE("small groups are drawn over large ones and keep their colour") {
  gh::ScatterPlot plot;
  plot.add(ring("", 3));
  plot.add(ring("", 30));
  const std::string svg = plot.svg();
  CHECK(svg.find(gh::plot_color(1)) < svg.find(gh::plot_color(0)));
}

TEST_CASE("many dots are thinned, a small group is not, and the drawing says so") {
  gh::ScatterPlot plot;
  plot.add(ring("", 90000));
  plot.add(ring("", 20));
  const std::string svg = plot.svg();
  check_clean(svg);
  CHECK(count(svg, "<circle") <= 3050);
  CHECK(count(svg, "<circle") >= 2900);
  CHECK(count(svg.substr(svg.find(gh::plot_color(1))), "<circle") == 20);
  CHECK(count(svg, "of 90020 dots drawn") == 1);
  CHECK(svg == plot.svg());
}

TEST_CASE("dots that cannot be shown are counted") {
  gh::ScatterPlot plot;
  plot.extent = 1;
  plot.add({"", {0, kNan, kInfinity, 5}, {0, 0, 0, 0}});
  const std::string svg = plot.svg();
  check_clean(svg);
  CHECK(count(svg, "<circle") == 1);
  CHECK(count(svg, ">3 outside or not finite<") == 1);
}

TEST_CASE("names cannot break a drawing") {
  gh::ScatterPlot scatter;
  scatter.title = "a < b & \"c\" \x01</svg>";
  scatter.add(ring("<script>alert('x')</script>", 2));
  check_clean(scatter.svg());
  CHECK(scatter.svg().find("<script") == std::string::npos);
  gh::LinePlot lines;
  lines.title = scatter.title;
  lines.x_label = "<x>";
  lines.marks = {gh::PlotMark(2, "\"<mark>")};
  lines.add({"<line>", {1, 2, 3}, {1, 2, 3}});
  check_clean(lines.svg());
}

TEST_CASE("plots of nothing, of one point and of extreme values are drawings too") {
  for (const std::vector<double>& y : {std::vector<double>{},
                                       {3},
                                       {kNan, kNan},
                                       {2, 2, 2},
                                       {0, 0},
                                       {1e308, -1e308},
                                       {1e-320, 2e-320},
                                       {1e299, -1e299},
                                       {1e15, 1e15 + 1},
                                       {-1e-9, 1e-9}}) {
    gh::LinePlot lines;
    lines.add(line(y));
    check_clean(lines.svg());
    gh::ScatterPlot scatter;
    scatter.add({"dots", y, y});
    check_clean(scatter.svg());
  }
  CHECK(markup_fault(gh::LinePlot().svg()) == "");
  CHECK(markup_fault(gh::ScatterPlot().svg()) == "");
}

TEST_CASE("a line is interrupted where a value is missing, and a lone point is a dot") {
  gh::LinePlot plot;
  plot.add({"", {1, 2, 3, 4, 5, 6, 7}, {1, 2, kNan, 4, kInfinity, 6, 7}});
  const std::string svg = plot.svg();
  CHECK(polylines(svg).size() == 2);
  CHECK(count(svg, "<circle") == 1);
}

TEST_CASE("a long line keeps its spike and stays small") {
  std::vector<double> y(100000, 0.0);
  y[54321] = 1;
  gh::LinePlot plot;
  plot.add(line(y));
  const std::string svg = plot.svg();
  CHECK(svg.size() < 60000);
  const auto points = polylines(svg);
  REQUIRE(points.size() == 1);
  std::istringstream in(points[0]);
  std::map<double, int> heights;  // how many points at each y
  for (double x, y; in >> x && in.ignore(1) && in >> y;) ++heights[y];
  REQUIRE(heights.size() == 2);
  CHECK(heights.begin()->second == 1);
}

TEST_CASE("marks are drawn inside the range only") {
  gh::LinePlot plot;
  plot.add(line({1, 2, 3}));
  plot.marks = {gh::PlotMark(2, "here"), 99.0, kNan};
  CHECK(count(plot.svg(), "stroke-dasharray") == 1);
  CHECK(count(plot.svg(), ">here<") == 1);
}

TEST_CASE("epochs have whole ticks") {
  gh::LinePlot plot;
  plot.add({"", {1, 2, 3}, {5, 5, 6}});
  const std::string svg = plot.svg();
  CHECK(count(svg, ">1<") == 1);
  CHECK(count(svg, ">1.5<") == 0);
}

TEST_CASE("ticks are told apart, however close or small") {
  gh::LinePlot close;
  close.add(line({1, 1.00002}));
  CHECK(count(close.svg(), ">1.000000<") == 1);
  CHECK(count(close.svg(), ">1.000005<") == 1);
  gh::LinePlot small;
  small.add(line({0, 1e-4}));
  CHECK(count(small.svg(), ">1e-04<") == 1);
  CHECK(count(small.svg(), ">8e-05<") == 1);
}

TEST_CASE("unequal lengths are an error") {
  gh::ScatterPlot scatter;
  gh::LinePlot lines;
  CHECK_THROWS_AS(scatter.add({"a", {1, 2}, {1}}), gh::Error);
  CHECK_THROWS_WITH(lines.add({"a", {1, 2}, {1}}), Catch::Contains("2 x and 1 y"));
}

TEST_CASE("a legend of many groups is cut short") {
  gh::ScatterPlot plot;
  for (int i = 0; i < 100; ++i) plot.add(ring("class " + std::to_string(i), 1));
  CHECK(count(plot.svg(), ">class ") == 12);
  CHECK(count(plot.svg(), ">and 88 more<") == 1);
}
