// Reports of runs whose evaluators classify: groups, many moments, many classes.
#include "report/report.hpp"

#include "unit/report/markup.hpp"
#include "unit/report/run_fixture.hpp"

#include <catch2/catch.hpp>

#include <array>

using namespace gh::host;
using gh::test::count;
using gh::test::markup_fault;
using gh::test::outside_reference;
using gh::test::RunFixture;

namespace {

std::string page_of(const RunFixture& fixture) {
  const std::string page = report_html(load_run(fixture.path()));
  CHECK(markup_fault(page) == "");
  CHECK(outside_reference(page) == "");
  return page;
}

// Evaluated at the start, every epoch and at the end.
void write_regular(const RunFixture& run, int epochs) {
  run.write("status.json", "{\"state\": \"finished\"}");
  for (int epoch = 0; epoch <= epochs; ++epoch)
    run.write_classified(epoch, {.moment = epoch == 0        ? "start"
                                           : epoch == epochs ? "end"
                                                             : "epoch",
                                 .epoch = epoch,
                                 .classes = 100});
}

}  // namespace

TEST_CASE("groups of classes stand on top, the last moment large, that before training below it") {
  const RunFixture run;
  write_regular(run, 5);
  const std::string page = page_of(run);
  const auto top = page.find("<h2>By group of classes</h2>");
  const auto end = page.find("<h2>knn");
  REQUIRE(top < end);
  CHECK(count(page.substr(top, end - top), "<details") == 0);
  CHECK(count(page,
              "<td class=\"n\">60.12</td><td class=\"n\">50.00</td><td "
              "class=\"n\">40.00</td><td class=\"n std\">10.06</td><td class=\"n "
              "avg\">50.04</td>") == 2);  // at the end and at the start
  CHECK(count(page, "<table class=\"groups\"") == 1);
  CHECK(count(page, "<table class=\"groups compact\"") == 1);
  CHECK(count(page, "<p class=\"caption\">Mean of a group; std: of groups</p>") == 1);
  CHECK(count(page, "<small>nearest neighbours, split test</small>") == 1);
  CHECK(count(page, "sha256:1") == 1);  // the protocol
}

TEST_CASE("regular evaluations are curves and not columns") {
  const RunFixture run;
  write_regular(run, 30);
  const std::string page = page_of(run);
  CHECK(count(page, "knn: by group") >= 1);
  CHECK(count(page, "knn: deviation") >= 1);
  CHECK(count(page,
              "<th class=\"n\">start<small>epoch 0</small></th><th "
              "class=\"n\">end<small>epoch 30</small></th></tr>") == 1);
  CHECK(count(page, "epoch 17") == 0);
  // A run that was stopped shows the newest there is.
  RunFixture stopped;
  stopped.write("status.json", "{\"state\": \"interrupted\"}");
  for (int epoch : {0, 5, 10}) stopped.write_classified(epoch, {.moment = "epoch", .epoch = epoch});
  CHECK(count(page_of(stopped), "epoch 10") >= 1);
  CHECK(count(summary_text(load_run(stopped.path())), "epoch (epoch 10)") == 1);
}

TEST_CASE("a table of many classes is folded, and closed on paper") {
  const RunFixture run;
  write_regular(run, 2);
  const std::string page = page_of(run);
  CHECK(count(page, "<details class=\"bulky\">\n<summary>classes (100 rows)</summary>") == 1);
  CHECK(count(page, "<summary>classes, start, epoch 0 (100 rows)</summary>") == 1);
}

TEST_CASE("large pictures show the last moment, earlier ones are folded") {
  RunFixture run;
  run.write("status.json", "{}");
  for (const char* moment : {"start", "end"}) {
    const std::string name = moment;
    run.write("results/" + name + ".svg",
              "<svg viewBox=\"0 0 640 240\"><text>" + name + "</text></svg>");
    run.write("results/0" + std::to_string(name == "end") + "-x.json",
              R"({"evaluator": "x", "epoch": )" + std::to_string(name == "end") +
                  R"(, "moment": ")" + name +
                  R"(", "pictures": [{"name": "p", "mime": "image/svg+xml", "file": "results/)" +
                  name + R"(.svg"}]})");
  }
  const std::string page = page_of(run);
  CHECK(count(page, "<figure class=\"large\" style=\"--w:640px\">") == 2);
  CHECK(page.find("<text>end</text>") < page.find("<summary>Earlier moments</summary>"));
  CHECK(page.find("<summary>Earlier moments</summary>") < page.find("<text>start</text>"));
}

TEST_CASE("what was evaluated afterwards comes after the end, and is called so") {
  const RunFixture run;
  write_regular(run, 3);
  run.write_classified(4, {.moment = "end", .epoch = 3});
  std::string result = run.read("results/03-end-knn.json");
  result.replace(result.find("\"end\""), 5, "\"afterwards\", \"label\": \"simclr\"");
  run.write("results/afterwards-001-knn.json", result);
  const RunRecord record = load_run(run.path());
  CHECK(record.results.back().moment == "afterwards");
  CHECK(count(page_of(run), "simclr, afterwards") >= 1);
}

TEST_CASE("two runs: what each class gains, in groups") {
  RunFixture a, b;
  for (const RunFixture* run : {&a, &b}) run->write("status.json", "{}");
  a.write_classified(0, {.epoch = 10, .classes = 6});
  b.write_classified(0, {.epoch = 12, .classes = 6});  // whose classes are two points better
  const std::string page = comparison_html(std::array{load_run(a.path()), load_run(b.path())});
  CHECK(markup_fault(page) == "");
  CHECK(count(page, "6 of 6 classes gain, 0 lose") == 1);
  CHECK(count(page, "not the same moment: epoch 10 and 12") == 1);
  CHECK(count(page, "<table class=\"groups\"") == 1);
  CHECK(count(page, "difference</th>") == 1);
}
