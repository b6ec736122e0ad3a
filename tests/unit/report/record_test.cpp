#include "report/format.hpp"
#include "report/report.hpp"
#include "report/run_record.hpp"

#include "gh/error.hpp"
#include "unit/report/run_fixture.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace gh::host;
using gh::test::count;
using gh::test::RunFixture;

namespace {

gh::ErrorCode code_of(const std::filesystem::path& directory) {
  try {
    load_run(directory);
  } catch (const gh::Error& error) {
    CHECK_THAT(error.what(), Catch::Contains(directory.string()));
    return error.code();
  }
  FAIL("no error");
  return gh::ErrorCode::internal;
}

}  // namespace

TEST_CASE("a run is read whole") {
  RunFixture fixture;
  fixture.write_toy("toy");
  const RunRecord run = load_run(fixture.path());
  CHECK(run.problems.empty());
  CHECK(run.name == "toy");
  CHECK(run.value("harmonize.allocator.epsilon") == "0.05");
  CHECK(run.value("eval.0.id") == "circle");
  CHECK(composition(run) == "simclr + GH (etf × sinkhorn) on gaussians with mlp");
  CHECK(warm_up_end(run) == 4);
  CHECK(run.status.state == "finished");
  REQUIRE(run.epochs.size() == 10);
  CHECK(run.epochs[9].scalars.at("loss") == Approx(0.5));
  CHECK(std::isnan(run.epochs[0].scalars.at("loss_gh")));
  CHECK(run.epochs[0].scalars.at("time.seconds") == Approx(0.1));
  CHECK_FALSE(run.epochs[0].scalars.contains("epoch"));
  REQUIRE(run.results.size() == 3);
  CHECK(run.results[2].moment == "end");
  CHECK(run.results[2].metrics[0].value == 0.25);
  CHECK_FALSE(run.results[1].metrics[0].value);
  CHECK(run.results[0].pictures[1].bytes.starts_with("<svg"));
  REQUIRE(run.plugins.size() == 1);
  CHECK(run.plugins[0].provides == "ssl:simclr");
  CHECK(run.environment[2] == std::pair<std::string, std::string>("command", "ghhost run a b"));
  CHECK(run.log_tail == "first line\nlast line\n");
}

TEST_CASE("what is not a run directory is named") {
  RunFixture fixture;
  CHECK(code_of(fixture.path() / "nowhere") == gh::ErrorCode::missing_data);
  CHECK(code_of(fixture.path()) == gh::ErrorCode::missing_data);
  fixture.write("file", "x");
  CHECK(code_of(fixture.path() / "file") == gh::ErrorCode::missing_data);
}

TEST_CASE("the last line of a killed run is ignored in silence, a garbled one is not") {
  RunFixture fixture;
  fixture.write_toy("toy");
  const std::string lines = fixture.read("metrics.jsonl");
  fixture.write("metrics.jsonl", lines + "{\"stage\": \"train\", \"epoch\": 11, \"lo");
  CHECK(load_run(fixture.path()).epochs.size() == 10);
  CHECK(load_run(fixture.path()).problems.empty());
  fixture.write("metrics.jsonl", "garbage\n" + lines);
  CHECK(load_run(fixture.path()).epochs.size() == 10);
  CHECK(load_run(fixture.path()).problems.size() == 1);
}

TEST_CASE("a complete last line without its newline counts") {
  RunFixture fixture;
  fixture.write("status.json", "{}");
  fixture.write("metrics.jsonl", "{\"epoch\": 1, \"loss\": 2}");
  CHECK(load_run(fixture.path()).epochs.size() == 1);
}

TEST_CASE("epochs that a resumed run repeats replace the earlier ones") {
  RunFixture fixture;
  fixture.write("status.json", "{}");
  fixture.write(
      "metrics.jsonl",
      "{\"epoch\": 1, \"loss\": 1}\n{\"epoch\": 2, \"loss\": 2}\n{\"epoch\": 3, \"loss\": 3}\n"
      "{\"epoch\": 2, \"loss\": 20}\n");
  const RunRecord run = load_run(fixture.path());
  REQUIRE(run.epochs.size() == 2);
  CHECK(run.epochs[1].scalars.at("loss") == 20);
}

TEST_CASE("damaged files become problems, not errors") {
  RunFixture fixture;
  fixture.write_toy("toy");
  fixture.write("recipe.toml", "name = \n");
  fixture.write("status.json", "{\"state\": ");
  fixture.write("environment.json", "");
  fixture.write("results/03-end-broken.json", "[1, 2]");
  fixture.write("results/04-end-odd.json",
                R"({"metrics": 3, "tables": [{"rows": [1, [2, null]]}], "pictures": [{}, 7]})");
  const RunRecord run = load_run(fixture.path());
  CHECK(run.problems.size() == 4);
  CHECK_THAT(run.problems[0], Catch::Contains("recipe.toml, line 1"));
  CHECK(run.status.state == "unknown");
  CHECK(run.name == fixture.path().filename().string());
  REQUIRE(run.results.size() == 4);
  CHECK(run.results[3].tables[0].rows[1] == std::vector<std::string>{"2", "—"});
  CHECK_FALSE(report_html(run).empty());
}

TEST_CASE("pictures outside the run directory are not read") {
  RunFixture fixture;
  fixture.write("secret", "s3cret");
  fixture.write("run/status.json", "{}");
  const std::string picture = R"({"name": "p", "mime": "image/png", "file": ")";
  fixture.write("run/results/00-end-x.json",
                R"({"evaluator": "x", "moment": "end", "pictures": [)" + picture +
                    "../secret\"}, " + picture + (fixture.path() / "secret").string() + "\"}, " +
                    picture + "gone.png\"}]}");
  const RunRecord run = load_run(fixture.path() / "run");
  for (const PictureRecord& p : run.results.at(0).pictures) {
    CHECK(p.bytes.empty());
    CHECK_FALSE(p.problem.empty());
  }
}

TEST_CASE("links in a run directory are not followed, whatever they stand for") {
  namespace fs = std::filesystem;
  RunFixture fixture;
  fixture.write("secret", "s3cret");
  fixture.write("secret.json", R"({"evaluator": "s3cret", "moment": "end"})");
  fixture.write("elsewhere/p.png", "s3cret");
  fixture.write("run/status.json", "{}");
  fixture.write("run/results/00-end-x.json", R"({"evaluator": "x", "moment": "end", "pictures": [
    {"name": "p", "mime": "image/png", "file": "results/p.png"},
    {"name": "q", "mime": "image/png", "file": "pictures/p.png"}]})");
  const fs::path run = fixture.path() / "run";
  fs::create_symlink(fixture.path() / "secret", run / "results/p.png");
  fs::create_symlink(fixture.path() / "elsewhere", run / "pictures");
  fs::create_symlink(fixture.path() / "secret.json", run / "results/01-end-y.json");
  for (const char* name : {"recipe.toml", "train.log", "metrics.jsonl", "environment.json"})
    fs::create_symlink(fixture.path() / "secret", run / name);
  const RunRecord record = load_run(run);
  REQUIRE(record.results.size() == 1);
  for (const PictureRecord& p : record.results[0].pictures) {
    CHECK(p.bytes.empty());
    CHECK_THAT(p.problem, Catch::Contains("is a link"));
  }
  CHECK(record.problems.size() == 5);
  for (const std::string& problem : record.problems) CHECK_THAT(problem, Catch::Contains("a link"));
  CHECK(count(report_html(record), "s3cret") == 0);

  fs::remove_all(run / "results");
  fs::create_symlink(fixture.path() / "elsewhere", run / "results");
  CHECK(load_run(run).results.empty());
}

TEST_CASE("files nested 80,000 deep are problems, not the end") {
  RunFixture fixture;
  fixture.write_toy("toy");
  const std::string deep =
      fmt::format("{{\"plugins\": {}{}}}", std::string(80'000, '['), std::string(80'000, ']'));
  for (const char* name : {"status.json", "data.json", "environment.json", "results/03-end-x.json"})
    fixture.write(name, deep);
  fixture.write("metrics.jsonl", deep + "\n");
  const RunRecord run = load_run(fixture.path());
  CHECK(run.problems.size() == 5);
  CHECK(run.results.size() == 3);
  CHECK_FALSE(report_html(run).empty());
}

TEST_CASE("results are ordered by their number") {
  RunFixture fixture;
  fixture.write_toy("toy");
  fixture.write_result(100, "last", 12, "1");
  fixture.write_result(99, "before", 11, "1");
  const RunRecord run = load_run(fixture.path());
  REQUIRE(run.results.size() == 5);
  CHECK(run.results[3].moment == "before");
  CHECK(run.results[4].moment == "last");
}

TEST_CASE("the warm-up is known from the recipe before it was evaluated") {
  RunFixture fixture;
  fixture.write("recipe.toml", "[harmonize]\nwarm_up = 60\n");
  CHECK(warm_up_end(load_run(fixture.path())) == 60);
  fixture.write("recipe.toml", "[harmonize]\nwarm_up = \"x\"\n");
  CHECK_FALSE(warm_up_end(load_run(fixture.path())));
}

TEST_CASE("the summary is an aligned Markdown table with definitions") {
  RunFixture fixture;
  fixture.write_toy("toy");
  CHECK(summary_text(load_run(fixture.path())) ==
        "# toy\n\n"
        "simclr + GH (etf × sinkhorn) on gaussians with mlp\n"
        "finished, epoch 10 of 10, 1 min 15 s\n\n"
        "| circle | at start (epoch 0) | at warm-up (epoch 4) | at end (epoch 10) |\n"
        "|--------|-------------------:|---------------------:|------------------:|\n"
        "| share  |             0.1000 |                    — |            0.2500 |\n\n"
        "- share: smallest share of the circle\n");
}

TEST_CASE("a summary keeps terminals and tables safe") {
  RunFixture fixture;
  fixture.write("recipe.toml", "name = \"a|b\\u001b[2J\"\n");
  const std::string text = summary_text(load_run(fixture.path()));
  CHECK(text.starts_with("# a\\|b [2J\n"));
  CHECK(count(text, "\x1b") == 0);
}

TEST_CASE("numbers are written for reading") {
  CHECK(format_number(0.123456) == "0.1235");
  CHECK(format_number(12.3456) == "12.35");
  CHECK(format_number(42) == "42");
  CHECK(format_number(-0.0) == "0");
  CHECK(format_number(1.5e-6) == "1.500e-06");
  CHECK(format_number(123456.7) == "123457");
  CHECK(format_number(std::nullopt) == "—");
  CHECK(format_number(std::numeric_limits<double>::quiet_NaN()) == "—");
  const std::vector<std::optional<double>> row = {0.5, 12.25, std::nullopt};
  CHECK(format_numbers(row) == std::vector<std::string>{"0.50", "12.25", "—"});
  const std::vector<std::optional<double>> counts = {3, 1024};
  CHECK(format_numbers(counts) == std::vector<std::string>{"3", "1024"});
  const std::vector<std::optional<double>> far = {0.0012, 5000.5};
  CHECK(format_numbers(far) == std::vector<std::string>{"0.001200", "5000"});
  CHECK(format_duration(0.84) == "0.8 s");
  CHECK(format_duration(59.9) == "1 min 0 s");
  CHECK(format_duration(12000) == "3 h 20 min");
}

TEST_CASE("base64 follows RFC 4648") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64(std::string("\xff\0\xfe", 3)) == "/wD+");
}
