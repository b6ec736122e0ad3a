#include "report/study_page.hpp"
#include "report/band_plot.hpp"
#include "report/study_plots.hpp"
#include "unit/report/markup.hpp"
#include "unit/report/study_fixture.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <string>

using namespace gh::host;
using gh::test::count;
using gh::test::markup_fault;
using gh::test::StudyFixture;

namespace {

std::string page_of(const StudySummary& study) {
  return study_html(study, load_study_runs(study, ForCurves::yes), study.directory);
}

// Arms along the weight, a baseline beside it.
void add_sweep(StudyFixture& f) {
  f.study.metrics = {"few"};
  f.add_arm("base", {"40", "42"});
  for (const std::string weight : {"0.25", "0.5", "4"}) {
    f.add_arm("GH " + weight, {"43", "45"});
    f.set_axes("GH " + weight, {{"harmonize.weight", weight}, {"allocator", "sinkhorn"}}, "GH");
  }
}

void write_curve(const gh::test::RunFixture& run, int epochs, double loss) {
  std::string lines;
  for (int epoch = 1; epoch <= epochs; ++epoch)
    lines += "{\"stage\": \"train\", \"epoch\": " + std::to_string(epoch) +
             ", \"loss\": " + std::to_string(loss / epoch) + ", \"lr\": 0.5}\n";
  run.write("metrics.jsonl", lines);
}

}  // namespace

TEST_CASE("a study's page is whole and lets no name be anything but a name") {
  StudyFixture f;
  const std::string evil = "</script><script>alert(1)</script>\"'><b>";
  f.study.name = evil;
  f.study.problems = {evil};
  RunOfStudy& run = f.add(evil, 0, "40", "");
  run.axes = {{evil, "1"}};
  run.unintended = {evil};
  write_curve(f.last(), 3, 1);
  RunOfStudy& other = f.add(evil + "2", 1, "41", evil);
  other.axes = {{evil, "2"}};
  other.state = ArmState::failed;
  other.failure = evil;
  f.add_absent("going", 0, ArmState::running).seconds_left = 60;
  for (const std::string layout : {"rows", "paper"}) {
    f.study.layout = layout;
    const std::string page = page_of(f.study);
    CHECK(markup_fault(page) == "");
    CHECK(count(page, "<script") == 1);
    CHECK(count(page, "alert(1)</script>") == 0);
    CHECK(count(page, "http://") == count(page, "xmlns=\"http://www.w3.org/2000/svg\""));
    CHECK(count(page, "script-src 'sha256-") == 1);
  }
}

TEST_CASE("the page says how far a study is, and reads itself anew while it runs") {
  StudyFixture f;
  f.add("base", 0, "40");
  f.add_absent("GH", 0, ArmState::failed).failure = "no memory";
  f.study.epochs_done = 10;
  f.study.epochs_planned = 40;
  std::string page = page_of(f.study);
  CHECK(count(page, "10 of 40 epochs (25 %)") == 1);
  CHECK(count(page, "<span class=\"dot done\"></span>1 done") == 1);
  CHECK(count(page, "GH failed: no memory (seed 0)") == 1);
  CHECK(count(page, "http-equiv=\"refresh\"") == 0);
  CHECK(count(page, "Under way") == 0);
  RunOfStudy& run = f.add_absent("GH", 1, ArmState::running);
  run.epochs_done = 3;
  run.epochs_planned = 12;
  run.seconds_left = 90;
  f.study.seconds_left = 3700;
  page = page_of(f.study);
  CHECK(count(page, "about 1 h 1 min left") == 1);
  CHECK(count(page, "3 of 12</td><td class=\"n\">1 min 30 s") == 1);
  CHECK(count(page, "http-equiv=\"refresh\"") == 1);
}

TEST_CASE("seeds link to the reports of their runs, by paths that are only paths") {
  StudyFixture f;
  gh::test::TemporaryDirectory directory;
  f.study.directory = directory.path();
  RunOfStudy& run = f.add("base", 0, "40");
  run.directory = directory / "runs/a b?#\"javascript:x";
  directory.write("runs/a b?#\"javascript:x/report.html", "");
  directory.write("runs/a b?#\"javascript:x/status.json", "{}");
  f.add("base", 1, "40");  // has no report
  const std::string page = page_of(f.study);
  CHECK(count(page, "<a href=\"./runs/a%20b%3F%23%22javascript%3Ax/report.html\" class=\"seed") ==
        1);
  CHECK(count(page, "<span class=\"seed done\" title=\"seed 1: done\">1</span>") == 1);
}

TEST_CASE("curves have a line an arm, and a band where seeds differ") {
  StudyFixture f;
  f.add("base", 0, "40");
  write_curve(f.last(), 5, 1);
  f.add("base", 1, "40");
  write_curve(f.last(), 5, 2);
  f.add("GH", 0, "40").state = ArmState::running;
  write_curve(f.last(), 3, 3);
  const auto runs = load_study_runs(f.study, ForCurves::yes);
  const std::string html = study_curves(f.study, study_results(f.study, runs), runs);
  CHECK(markup_fault(html) == "");
  CHECK(count(html, ">loss</text>") == 1);
  CHECK(count(html, "<polyline") == 4);  // loss and lr of two arms
  CHECK(count(html, "<polygon") == 1);   // loss of the arm with two seeds
  CHECK(count(html, "<title>base</title>") == 2);
  CHECK(study_curves(f.study, study_results(f.study, runs), std::vector<RunRecord>(3)).empty());
  CHECK(load_study_runs(f.study, ForCurves::no)[0].epochs.empty());
}

TEST_CASE("of many arms the first are drawn, the others wait") {
  StudyFixture f;
  for (int i = 0; i < 11; ++i) {
    f.add("arm " + std::to_string(i), 0, "40", "");
    write_curve(f.last(), 4, 1 + i);
  }
  const std::string page = page_of(f.study);
  CHECK(count(page, "<g class=\"s\"") == 2 * kDrawnAtFirst);
  CHECK(count(page, "<g class=\"s off\"") == 2 * 3);
  CHECK(count(page, " checked") == kDrawnAtFirst);
}

TEST_CASE("a sweep has a point a value with the deviation over seeds, and a level for a baseline") {
  StudyFixture f;
  add_sweep(f);
  const auto runs = load_study_runs(f.study, ForCurves::no);
  const std::string html = study_sweeps(study_results(f.study, runs));
  CHECK(markup_fault(html) == "");
  CHECK(count(html, "<figure>") == 1);
  CHECK(count(html, "<circle") == 3);
  CHECK(count(html, "<path class=\"l\"") == 3);
  CHECK(count(html, "stroke-dasharray=\"6 3\"") == 1);
  CHECK(count(html, ">base</text>") == 1);
  for (const std::string value : {"0.25", "0.5", "4"})
    CHECK(count(html, ">" + value + "</text>") == 1);
  CHECK(count(html, "GH, allocator = sinkhorn</button>") == 1);
  CHECK(count(html, "<code>allocator</code>") == 0);  // no number
}

TEST_CASE("points and bars of a plot stand where their values are") {
  BandPlot plot;
  plot.style = BandPlot::Style::bars;
  plot.ticks = {{1, "1"}, {10, "10"}, {100, "100"}};
  plot.logarithmic = true;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  plot.add({"a", "#000", {1, 10, 100}, {0, 5, 10}, {-1, 5, kNone}, {1, 5, kNone}});
  const std::string svg = plot.svg();
  std::vector<double> x, y;
  for (std::size_t at = svg.find("cx=\""); at != svg.npos; at = svg.find("cx=\"", at + 1)) {
    x.push_back(std::stod(svg.substr(at + 4)));
    y.push_back(std::stod(svg.substr(svg.find("cy=\"", at) + 4)));
  }
  REQUIRE(x.size() == 3);
  CHECK(x[1] - x[0] == Approx(x[2] - x[1]).margin(0.15));  // powers of ten are evenly spaced
  CHECK(y[0] - y[1] == Approx(y[1] - y[2]).margin(0.15));
  CHECK(y[0] > y[2]);
  CHECK(count(svg, "<path") == 1);  // the one value with a bar that is known
}
