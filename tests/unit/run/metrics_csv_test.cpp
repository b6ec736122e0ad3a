#include "run/metrics_csv.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <fstream>

namespace {

using namespace gh;
using namespace gh::host;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("rows are objects, nested ones with dots, numbers as in JSON") {
  const test::TemporaryDirectory dir;
  MetricsCsv csv(dir / "m.csv");
  CHECK(!fs::exists(dir / "m.csv"));
  csv.add({{"epoch", 1}, {"lr", 0.1}, {"top1", {{"head", 1e-7}, {"tail", -2.5}}}});
  csv.add(
      {{"epoch", 2}, {"top1", {{"tail", nullptr}, {"head", 3.0}}}, {"lr", 0.30000000000000004}});
  CHECK(content(dir / "m.csv") ==
        "epoch,lr,top1.head,top1.tail\n1,0.1,1e-07,-2.5\n2,0.30000000000000004,3.0,\n");
}

TEST_CASE("texts are quoted where they must be") {
  const test::TemporaryDirectory dir;
  MetricsCsv csv(dir / "m.csv");
  csv.add({{"plain", "a b"},
           {"comma, in name", "a,b"},
           {"quote", "say \"x\""},
           {"lines", "1\n2"},
           {"nothing", ""},
           {"list", {1, 2}},
           {"flag", true}});
  CHECK(content(dir / "m.csv") ==
        "plain,\"comma, in name\",quote,lines,nothing,list,flag\n"
        "a b,\"a,b\",\"say \"\"x\"\"\",\"1\n2\",\"\",\"[1,2]\",true\n");
}

TEST_CASE("a new column comes last, and old rows are empty there") {
  const test::TemporaryDirectory dir;
  MetricsCsv csv(dir / "m.csv");
  csv.add({{"epoch", 1}, {"note", "a\n\"b\",c"}});
  csv.add({{"epoch", 2}, {"gh", 0.5}, {"prior", {{"entropy", 1.5}}}});
  csv.add({{"epoch", 3}});
  CHECK(content(dir / "m.csv") ==
        "epoch,note,gh,prior.entropy\n1,\"a\n\"\"b\"\",c\",,\n2,,0.5,1.5\n3,,,\n");
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("a file is continued, without a row that a crash cut off") {
  const test::TemporaryDirectory dir;
  {
    MetricsCsv csv(dir / "m.csv");
    csv.add({{"a \"b\", c", 1}, {"x", 2}});
  }
  std::ofstream(dir / "m.csv", std::ios::app) << "7,\"half\n";
  MetricsCsv csv(dir / "m.csv");
  csv.add({{"x", 4}, {"a \"b\", c", 3}});
  csv.add({{"y", 5}});
  CHECK(content(dir / "m.csv") == "\"a \"\"b\"\", c\",x,y\n1,2,\n3,4,\n,,5\n");
}

TEST_CASE("rebuilding from lines gives what adding them gave") {
  const test::TemporaryDirectory dir;
  const std::vector<Json> lines = {{{"epoch", 1}, {"loss", 0.1}},
                                   {{"epoch", 2}, {"note", "a,b"}, {"deep", {{"x", {{"y", 1}}}}}},
                                   {{"loss", nullptr}}};
  std::ofstream jsonl(dir / "m.jsonl");
  MetricsCsv csv(dir / "added.csv");
  for (const Json& line : lines) {
    jsonl << line.dump() << '\n';
    csv.add(line);
  }
  jsonl << "{\"epoch\": 4, \"lo" << std::flush;  // cut off
  std::ofstream(dir / "rebuilt.csv") << "something else";
  MetricsCsv::rebuild(dir / "m.jsonl", dir / "rebuilt.csv");
  CHECK(content(dir / "rebuilt.csv") == content(dir / "added.csv"));
  CHECK(content(dir / "added.csv").find("deep.x.y") != std::string::npos);

  std::ofstream(dir / "bad.jsonl") << "{}\nnonsense\n{}\n";
  CHECK_THROWS_WITH(MetricsCsv::rebuild(dir / "bad.jsonl", dir / "bad.csv"),
                    Catch::Contains("line 2"));
  std::ofstream(dir / "none.jsonl") << "";
  MetricsCsv::rebuild(dir / "none.jsonl", dir / "none.csv");
  CHECK(content(dir / "none.csv").empty());
  CHECK_THROWS_AS(MetricsCsv::rebuild(dir / "absent.jsonl", dir / "x.csv"), Error);
}

}  // namespace
