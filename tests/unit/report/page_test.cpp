#include "report/report.hpp"

#include "gh/error.hpp"
#include "unit/report/markup.hpp"
#include "unit/report/run_fixture.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <array>
#include <filesystem>

using namespace gh::host;
using gh::test::count;
using gh::test::markup_fault;
using gh::test::outside_reference;
using gh::test::RunFixture;

namespace fs = std::filesystem;

namespace {

void check_page(const std::string& page) {
  CHECK(markup_fault(page) == "");
  CHECK(outside_reference(page) == "");
  CHECK(page.starts_with("<!DOCTYPE html>"));
}

std::string report_of(const RunFixture& fixture) {
  write_report(fixture.path());
  const std::string page = fixture.read("report.html");
  check_page(page);
  return page;
}

}  // namespace

TEST_CASE("the checker of these tests sees what is wrong") {
  CHECK(markup_fault("<p>a<br>b</p><img src=\"x\">") == "");
  for (const char* wrong :
       {"<p>", "</p>", "<p><b></p></b>", "<p a=b></p>", "<p a=\"></p>", "a > b", "<p"})
    CHECK(markup_fault(wrong) != "");
  CHECK(outside_reference("<a href=\"#x\"></a><img src=\"data:x\">") == "");
  for (const char* wrong : {"<img src=\"x.png\">", "<a href=\"//x\">", "http://x", "<script>"})
    CHECK(outside_reference(wrong) != "");
}

TEST_CASE("a report shows the moments side by side, pictures first") {
  RunFixture fixture;
  fixture.write_toy("toy");
  const std::string page = report_of(fixture);
  CHECK(count(page, "<h1>toy</h1>") == 1);
  CHECK(count(page, "class=\"badge finished\"") == 1);
  CHECK(count(page, "epoch 10 of 10") == 1);
  CHECK(count(page, "807 samples, 4 classes of 500 to 31") == 1);
  CHECK(page.find("<h2>circle") < page.find("<div class=\"row\">"));
  CHECK(page.find("<div class=\"row\">") < page.find("<table class=\"metrics\">"));
  CHECK(page.find("<table class=\"metrics\">") < page.find("<h2>Curves"));
  // The data are the same at each moment and shown once, in the row of the three embeddings.
  CHECK(count(page, "<div class=\"row\">") == 1);
  CHECK(count(page, "same at every moment") == 1);
  CHECK(count(page, "embedding · epoch") == 3);
  CHECK(count(page, ">the circle<") == 1);
  CHECK(count(page, "<td class=\"n\">0.2500</td>") == 1);
  CHECK(count(page, "<td class=\"n\">—</td>") == 1);
  CHECK(count(page, "smallest share of the circle") == 1);
  CHECK(count(page, ">end of warm-up<") >= 2);
  CHECK(count(page, "Never changed: <code>lr</code> = 0.5.") == 1);
  CHECK(count(page, "[harmonize]") == 1);
  CHECK(count(page, "simclr.so") == 1);
  CHECK(fs::exists(fixture.path() / "report.html"));
}

TEST_CASE("ids of drawings do not clash") {
  RunFixture fixture;
  fixture.write_toy("toy");
  const std::string page = report_of(fixture);
  for (int i = 1; i <= 4; ++i) {
    CHECK(count(page, fmt::format("id=\"p{}-c\"", i)) == 1);
    CHECK(count(page, fmt::format("(#p{}-c)", i)) == 1);
  }
}

TEST_CASE("nothing in a run can write markup into its report") {
  constexpr std::string_view kEvil = R"(<script>alert(1)</script>\"'&<b>)";
  RunFixture fixture;
  fixture.write_toy(R"(<script>alert(1)</script>\"'&)");
  fixture.write("train.log", "<script>log</script> \x1b[1m");
  fixture.write("status.json",
                fmt::format(R"({{"state": "{0}", "message": "{0}", "updated": "{0}"}})", kEvil));
  fixture.write("environment.json",
                fmt::format(R"({{"{0}": "{0}", "plugins": [{{"name": "{0}"}}]}})", kEvil));
  fixture.write("metrics.jsonl",
                fmt::format("{{\"epoch\": 1, \"{0}\": 1}}\n{{\"epoch\": 2, \"{0}\": 2}}\n", kEvil));
  fixture.write("results/03-end-evil.json",
                fmt::format(R"({{"evaluator": "{0}", "slot": "{0}", "moment": "{0}", "label": "{0}",
      "metrics": [{{"name": "{0}", "value": 1, "definition": "{0}"}}],
      "tables": [{{"name": "{0}", "caption": "{0}", "columns": ["{0}"], "rows": [["{0}"]]}}],
      "pictures": [{{"name": "{0}", "caption": "{0}", "mime": "{0}", "file": "results/p.svg"}},
                   {{"name": "{0}1", "caption": "{0}", "mime": "image/svg+xml", "file": "results/p.svg"}}]}})",
                            kEvil));
  fixture.write("results/p.svg", "<svg><script>alert(2)</script></svg>");
  const std::string page = report_of(fixture);
  CHECK(count(page, "<script") == 0);
  CHECK(count(page, "<b><") == 0);
  CHECK(count(page, "data:image/svg+xml;base64,") == 1);  // where browsers run no scripts
  check_page(comparison_html(std::array{load_run(fixture.path()), load_run(fixture.path())}));
}

TEST_CASE("a run that has just begun has a report") {
  RunFixture fixture;
  fixture.write("recipe.toml", "name = \"young\"\n");
  const std::string page = report_of(fixture);
  CHECK(count(page, "<h1>young</h1>") == 1);
  CHECK(count(page, "status.json is missing") == 1);
  CHECK(count(page, "<h2>") == 0);
}

TEST_CASE("a failed run says why and shows its log") {
  RunFixture fixture;
  fixture.write_toy("toy");
  fixture.write("status.json",
                R"({"state": "failed", "message": "loss is NaN at step 3", "epoch": 2})");
  const std::string page = report_of(fixture);
  CHECK(count(page, "loss is NaN at step 3") == 1);
  CHECK(count(page, "<details open>") == 1);
}

TEST_CASE("pictures of other kinds are embedded, missing ones are named") {
  RunFixture fixture;
  fixture.write("status.json", "{}");
  fixture.write("results/00-end-x.json",
                R"({"evaluator": "x", "moment": "end", "epoch": 1, "pictures": [
      {"name": "a", "mime": "image/png", "file": "results/a.png"},
      {"name": "b", "mime": "image/png", "file": "results/gone.png"},
      {"name": "c", "mime": "text/html", "file": "results/a.png"}]})");
  fixture.write("results/a.png", "foobar");
  const std::string page = report_of(fixture);
  CHECK(count(page, "src=\"data:image/png;base64,Zm9vYmFy\"") == 1);
  CHECK(count(page, "results/gone.png is missing") == 1);
  CHECK(count(page, "cannot show text/html") == 1);
}

TEST_CASE("pictures of a single moment share a row") {
  RunFixture fixture;
  fixture.write("status.json", "{}");
  fixture.write_result(0, "end", 10, "1");
  CHECK(count(report_of(fixture), "<div class=\"row\">") == 1);
}

TEST_CASE("stages follow one another on the axis") {
  RunFixture fixture;
  fixture.write("status.json", "{}");
  std::string lines;
  for (const char* stage : {"base", "experts"})
    for (int epoch = 1; epoch <= 20; ++epoch)
      lines +=
          fmt::format("{{\"stage\": \"{}\", \"epoch\": {}, \"loss\": {}}}\n", stage, epoch, epoch);
  fixture.write("metrics.jsonl", lines);
  const std::string page = report_of(fixture);
  CHECK(count(page, ">40</text>") == 1);
  CHECK(count(page, ">experts</text>") == 1);
}

TEST_CASE("a report is written whole or not at all") {
  RunFixture fixture;
  fixture.write_toy("toy");
  fs::create_directories(fixture.path() / "report.html" / "in the way");
  try {
    write_report(fixture.path());
    FAIL("no error");
  } catch (const gh::Error& error) {
    CHECK(error.code() == gh::ErrorCode::io);
  }
  CHECK(fs::exists(fixture.path() / "report.html" / "in the way"));
}

TEST_CASE("a comparison sets runs side by side") {
  RunFixture a, b, out;
  a.write_toy("with GH");
  b.write_toy("other");
  b.write("recipe.toml", "name = \"other\"\nseed = 7\nmethod.id = \"byol\"\n");
  b.write_result(2, "end", 10, "0.75");
  b.write("results/02-end-circle-embedding.svg", "<svg><text>different</text></svg>");
  write_comparison(std::array{a.path(), b.path()}, out.path() / "cmp.html");
  const std::string page = out.read("cmp.html");
  check_page(page);
  CHECK(count(page, "<td class=\"n\">0.2500</td><td class=\"n\">0.7500</td>") == 1);
  CHECK(count(page, "<td>method.id</td><td>simclr</td><td>byol</td>") == 1);
  CHECK(count(page, "<td>seed</td>") == 0);
  CHECK(count(page, "same in every run") == 1);  // the data
  CHECK(count(page, "embedding · epoch 10") == 2);
  CHECK(count(page, "<polyline") == 4);  // loss and loss_gh of both
}

TEST_CASE("runs of one name are told apart, and differing definitions are pointed out") {
  RunFixture a, b;
  a.write_toy("same");
  b.write_toy("same");
  std::string result = b.read("results/02-end-circle.json");
  result.replace(result.find("smallest"), 8, "largest");
  b.write("results/02-end-circle.json", result);
  const std::string page = comparison_html(std::array{load_run(a.path()), load_run(b.path())});
  check_page(page);
  CHECK(count(page, "same (" + a.path().filename().string() + ")") >= 2);
  CHECK(count(page, "Definitions differ") == 1);
  CHECK(count(page, "Recipes, data and plugins are the same.") == 1);
}

TEST_CASE("a comparison of unfinished runs, one run, none") {
  RunFixture young;
  young.write("status.json", "{\"state\": \"running\"}");
  check_page(comparison_html(std::array{load_run(young.path())}));
  CHECK_THROWS_AS(write_comparison({}, young.path() / "x.html"), gh::Error);
}
