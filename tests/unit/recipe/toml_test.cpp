#include "recipe_fixture.hpp"

#include <cmath>
#include <limits>

using namespace gh::host;
using namespace gh::host::test;

namespace {
Table parsed(const std::string& text) {
  Diagnostics out;
  std::optional<Table> table = parse_toml(text, "t.toml", out);
  INFO(summary(out));
  REQUIRE(table);
  REQUIRE(out.all().empty());
  return *table;
}
}  // namespace

TEST_CASE("keys keep the order of the file and know where they stand") {
  const Table table = parsed("z = 1\n[b]\n  y = [1,\n 22]\n[a]\nx.w = true\n");
  std::string order;
  for (const Entry& e : table.entries()) order += e.key;
  CHECK(order == "zba");
  const Table& b = *table.find("b")->as<Table>();
  CHECK(b.entry("y")->source.line == 3);
  CHECK(b.entry("y")->source.column == 3);
  const Value& second = b.find("y")->as<Array>()->at(1);
  CHECK(second.source.file == "t.toml");
  CHECK(second.source.line == 4);
  CHECK(second.source.column == 2);
  CHECK(*find_path(table, "a.x.w")->as<bool>());
  CHECK(*find_path(table, "b.y.1")->as<int64_t>() == 22);
  for (const char* nothing : {"", "b.y.2", "b.y.-1", "b.y.1x", "z.z", "q"})
    CHECK_FALSE(find_path(table, nothing));
}

TEST_CASE("keys written on one line, or indented, keep their order too") {
  const Table table =
      parsed("m = 1\n      k = 2\n  j = 3\nb = 4\na = 5\nt = { q = 1, c = 2, m = 3, a = 4 }\n");
  CHECK(to_toml_value({table, {}}) ==
        "{ m = 1, k = 2, j = 3, b = 4, a = 5, t = { q = 1, c = 2, m = 3, a = 4 } }");
}

TEST_CASE("syntax errors carry a position") {
  struct Case {
    std::string text;
    int line;
  };
  const auto [text, line] = GENERATE(values<Case>({
      {"a = 1\na = 2\n", 2},              // twice
      {"[t]\nx=1\n\n[t]\n", 4},           // table twice
      {"a = 99999999999999999999\n", 1},  // above int64
      {"a = -9223372036854775809\n", 1},
      {"\n\na = \"x\n", 3},  // open string
      {"a = [1,\n2\n", 2},   // open list
      {"a = \n", 1},
      {"a b = 1\n", 1},
      {"[.a]\n", 1},  // toml++ asserts on some of these in a debug build
      {"[[.a]]\n", 1},
      {"[a]\n[=]\n", 2},
      {"x = { .a = 1 }\n", 1},
      {"x = 1\ny = \"\xff\xfe\"\n", 2},  // not UTF-8
  }));
  CAPTURE(text);
  Diagnostics out;
  CHECK_FALSE(parse_toml(text, "t.toml", out));
  const Diagnostic d = only(out);
  CHECK(d.source.file == "t.toml");
  CHECK(d.source.line == line);
  CHECK(d.source.column > 0);
  CHECK_THAT(d.message, Catch::StartsWith("not valid TOML: "));
}

TEST_CASE("the ends of int64 are integers") {
  const Table table = parsed("a = 9223372036854775807\nb = -9223372036854775808\n");
  CHECK(*table.find("a")->as<int64_t>() == std::numeric_limits<int64_t>::max());
  CHECK(*table.find("b")->as<int64_t>() == std::numeric_limits<int64_t>::min());
}

TEST_CASE("dates are refused where they stand, and the rest is still read") {
  Diagnostics out;
  const auto table = parse_toml(
      "a = 1979-05-27\n[t]\nb = [07:32:00]\nc = 1979-05-27T07:32:00Z\nd = 1\n", "t.toml", out);
  REQUIRE(table);
  REQUIRE(out.error_count() == 3);
  std::vector<std::string> keys;
  for (const Diagnostic& d : out.all()) keys.push_back(d.key);
  CHECK_THAT(keys, Catch::UnorderedEquals(std::vector<std::string>{"a", "t.b.0", "t.c"}));
  CHECK_THAT(out.text(), Catch::Contains("t.toml:1:5: error: a: no recipe key takes a date or "
                                         "time; to mean text, write \"1979-05-27\""));
  CHECK(find_path(*table, "t.d"));
}

TEST_CASE("one value is parsed, and nothing beside it") {
  CHECK(*parse_toml_value("0.2")->as<double>() == 0.2);
  CHECK(*parse_toml_value(" \"x\" # why")->as<std::string>() == "x");
  CHECK(parse_toml_value("{a = 1, b = [1, 2]}")->as<Table>()->entries().size() == 2);
  CHECK(parse_toml_value("[1, 20]")->as<Array>()->at(1).source.column == 5);
  for (const char* none : {"", "word", "1 2", "1\nb = 2", "{}\n[v.w]", "1979-05-27", "\"x", "[1",
                           "1]", "1e400", "=1"}) {
    CAPTURE(none);
    CHECK_FALSE(parse_toml_value(none));
  }
}

TEST_CASE("numbers are written so that they read back exactly and keep their kind") {
  struct Case {
    double value;
    std::string text;
  };
  const auto [value, text] = GENERATE(values<Case>({{1.0, "1.0"},
                                                    {0.1, "0.1"},
                                                    {1e-6, "1e-06"},
                                                    {-0.0, "-0.0"},
                                                    {1e300, "1e+300"},
                                                    {5e-324, "5e-324"},
                                                    {123456789.0, "123456789.0"},
                                                    {1.0 / 3.0, "0.3333333333333333"},
                                                    {0.1f, "0.10000000149011612"}}));
  CHECK(to_toml_value({value, {}}) == text);
  const double back = *parse_toml_value(text)->as<double>();
  CHECK(back == value);
  CHECK(std::signbit(back) == std::signbit(value));
}

TEST_CASE("whatever is written parses back to the same text") {
  const std::string text =
      GENERATE(std::string("a = 1\n"), "", "x = []\ny = {}\n", "[a]\n[a.b]\n[a.b.c]\nd = 1.5\n",
               "s = \"q\\\" b\\\\ n\\n t\\t r\\r e\\u001B d\\u007F ä 🎈\"\n",
               "\"odd key\" = 1\n[\"a.b\".c]\n\"\" = true\n",
               "m = [1, \"x\", {a = 1, b = {c = [[]]}}, 2.5]\n",
               "[[e]]\nk = 1\n[e.sub]\nz = 1\n[[e.list]]\ny = 1\n[[e.list]]\n[[e]]\n[after]\n",
               "a = {b = 1}\nc = 2\n");
  CAPTURE(text);
  const Table first = parsed(text);
  const std::string written = to_toml(first);
  CAPTURE(written);
  const Table again = parsed(written);
  CHECK(to_toml_value({again, {}}).size() == to_toml_value({first, {}}).size());
  CHECK(to_toml(again) == written);
}

TEST_CASE("plain keys come before sub-tables, whatever the order of the tree") {
  Table inner, table;
  inner.set("x", {int64_t{1}, {}});
  table.set("t", {inner, {}});
  table.set("list", {Array{{inner, {}}, {inner, {}}}, {}});
  table.set("plain", {true, {}});
  CHECK(to_toml(table) == "plain = true\n\n[t]\nx = 1\n\n[[list]]\nx = 1\n\n[[list]]\nx = 1\n");
}

TEST_CASE("CRLF, a byte order mark and a missing last newline make no difference") {
  CHECK(to_toml(parsed("a = 1\r\n[b]\r\nc = \"x\"\r\n")) ==
        to_toml(parsed("a = 1\n[b]\nc = \"x\"")));
  CHECK(to_toml(parsed("\xef\xbb\xbf"
                       "a = 1")) == "a = 1\n");
}
