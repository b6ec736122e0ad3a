#include "recipe_fixture.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

using namespace gh::host;
using namespace gh::host::test;
using Catch::Contains;

namespace {

std::string declaration_error(const gh::Param& param) {
  try {
    read_schema(&param, 1, sizeof(gh_param_v1));
  } catch (const gh::Error& error) {
    CHECK(error.code() == gh::ErrorCode::invalid_param);
    return error.what();
  }
  return "";
}

gh::Param with(gh::Param param, void (*change)(gh::Param&)) {
  change(param);
  return param;
}

// What one parameter makes of `key = text`: the resolved value as TOML, or the message.
std::string outcome(const gh::Param& param, const std::string& text) {
  Diagnostics out;
  const auto table = parse_toml(std::string(param.name) + " = " + text, "t.toml", out);
  REQUIRE(table);
  const Table resolved =
      apply_schema(read_schema(&param, 1, sizeof(gh_param_v1)), *table, {}, "t", {}, out);
  if (out.has_errors()) return only(out).message;
  return to_toml_value(*resolved.find(param.name));
}

constexpr gh::Param kFields[] = {gh::integer("depth", nullptr, "")};

}  // namespace

TEST_CASE("a declaration that cannot work is refused by name") {
  struct Case {
    gh::Param param;
    std::string complaint;
  };
  const std::vector<Case> cases{
      {gh::integer(nullptr, "1", ""), "'#0': a name has the form"},
      {gh::integer("", "1", ""), "a name has the form"},
      {gh::integer("Rate", "1", ""), "'Rate': a name has the form"},
      {gh::integer("a-b", "1", ""), "a name has the form"},
      {gh::integer("1a", "1", ""), "a name has the form"},
      {with(gh::integer("x", "1", ""), [](gh::Param& p) { p.kind = 0; }), "unknown kind 0"},
      {with(gh::integer("x", "1", ""), [](gh::Param& p) { p.kind = 12; }), "unknown kind 12"},
      {gh::integer("x", "one", ""), "default one is not a TOML value"},
      {gh::integer("x", "1.5", ""), "default 1.5: expected an integer, got 1.5"},
      {gh::integer("x", "", ""), "is not a TOML value"},
      {gh::integer("x", "0", "").above(0), "default 0: expected an integer > 0, got 0"},
      {gh::integer("x", "2", "").below(2), "default 2"},
      {gh::real("x", "nan", ""), "must be finite"},
      {gh::reals("x", "[1.0, inf]", ""), "must be finite"},
      {gh::real("x", "1.0", "").at_least(2).at_most(1), "no value lies within 2 … 1"},
      {gh::real("x", "1.0", "").above(1).at_most(1), "no value lies within"},
      {gh::real("x", "1.0", "").at_least(std::numeric_limits<double>::quiet_NaN()), "not finite"},
      {gh::boolean("x", "true", "").at_least(0), "only numbers take"},
      {with(gh::integer("x", "1", ""), [](gh::Param& p) { p.flags = GH_PARAM_MIN_OPEN; }),
       "an open bound needs the bound itself"},
      {gh::choice("x", nullptr, nullptr, ""), "a choice needs choices"},
      {gh::choice("x", nullptr, "", ""), "a choice needs choices"},
      {gh::choice("x", "a", "a||b", ""), "empty entry"},
      {gh::choice("x", "a", "a|", ""), "empty entry"},
      {gh::choice("x", "a", "a|b|a", ""), "listed twice"},
      {gh::choice("x", "c", "a|b", ""), "expected one of a, b, got the string \"c\""},
      {with(gh::text("x", "", ""), [](gh::Param& p) { p.choices = "a"; }), "has choices"},
      {gh::text("x", "\"open", ""), "is not a TOML value"},
      {gh::integer("x", "1", "").formerly("x"), "former name 'x'"},
      {gh::integer("x", "1", "").formerly("Old Name"), "former name 'Old Name'"},
      {with(gh::table("x", "{}", "", kFields), [](gh::Param& p) { p.fields = nullptr; }),
       "the pointer is null"},
      {with(gh::integer("x", "1", ""),
            [](gh::Param& p) {
              p.fields = kFields;
              p.field_count = 1;
            }),
       "only a table takes"},
      {gh::table("x", "{}", "", kFields), "default {}: x.depth: missing"},
      {gh::table("x", "{depth = 1, width = 2}", "", kFields), "x.width: unknown key"},
      {gh::texts("x", "[1]", ""), "x.0: expected a string"},
  };
  for (const Case& c : cases) {
    INFO(c.complaint);
    CHECK_THAT(declaration_error(c.param), Contains(c.complaint));
  }
}

TEST_CASE("names must differ from each other and from former names") {
  const gh::Param twice[] = {gh::integer("x", "1", ""), gh::integer("x", "1", "")};
  CHECK_THROWS_WITH(read_schema(twice), Contains("'x': is declared twice"));
  const gh::Param in_use[] = {gh::integer("x", "1", "").formerly("y"), gh::integer("y", "1", "")};
  CHECK_THROWS_WITH(read_schema(in_use), Contains("'x': its former name 'y' is still in use"));
  const gh::Param shared[] = {gh::integer("x", "1", "").formerly("z"),
                              gh::integer("y", "1", "").formerly("z")};
  CHECK_THROWS_WITH(read_schema(shared), Contains("shares its former name 'z'"));
}

TEST_CASE("a manifest with absurd counts or circular fields is refused, not followed") {
  gh::Param circle = gh::integer("x", nullptr, "");
  circle.kind = GH_PARAM_TABLE;
  circle.fields = &circle;
  circle.field_count = 1;
  CHECK_THROWS_WITH(read_schema(&circle, 1, sizeof circle), Contains("nest more than"));
  CHECK_THROWS_WITH(read_schema(&circle, 4'000'000'000, sizeof circle),
                    Contains("4000000000 parameters"));
  CHECK_THROWS_WITH(read_schema(nullptr, 1, sizeof circle), Contains("null"));
  CHECK_THROWS_WITH(read_schema(&circle, 1, 8), Contains("8 bytes apart"));
  CHECK(read_schema(nullptr, 0, sizeof circle).empty());
}

TEST_CASE("descriptors of a later minor, which are longer, are read with their own stride") {
  struct Longer {
    gh_param_v1 known;
    uint64_t appended[2];
  };
  const Longer inner[] = {{gh::integer("a", "1", ""), {~0ull, ~0ull}},
                          {gh::integer("b", "2", ""), {~0ull, ~0ull}}};
  Longer outer[] = {{gh::real("rate", "0.5", ""), {~0ull, ~0ull}},
                    {gh::integer("t", nullptr, ""), {~0ull, ~0ull}}};
  outer[1].known.kind = GH_PARAM_TABLE;
  outer[1].known.fields = &inner[0].known;
  outer[1].known.field_count = 2;
  const Schema schema = read_schema(&outer[0].known, 2, sizeof(Longer));
  REQUIRE(schema.size() == 2);
  REQUIRE(schema[1].fields.size() == 2);
  CHECK(schema[1].fields[1].name == "b");
}

TEST_CASE("a value is taken, or refused with what was expected and what came") {
  struct Case {
    gh::Param param;
    std::string text, outcome;
  };
  const gh::Param whole = gh::integer("x", nullptr, "").at_least(1).in("epochs");
  const gh::Param open = gh::real("x", nullptr, "").at_least(0).below(1);
  const gh::Param law = gh::choice("x", nullptr, "exp|step", "");
  const std::vector<Case> cases{
      {whole, "1", "1"},
      {whole, "0", "expected an integer ≥ 1 (epochs), got 0"},
      {whole, "1.5", "expected an integer ≥ 1 (epochs), got 1.5"},
      {whole, "1e3", "expected an integer ≥ 1 (epochs), got 1000.0; write 1000"},
      {whole, "\"10\"",
       "expected an integer ≥ 1 (epochs), got the string \"10\"; leave out the quotes"},
      {whole, "\"ten\"", "expected an integer ≥ 1 (epochs), got the string \"ten\""},
      {whole, "true", "expected an integer ≥ 1 (epochs), got true"},
      {whole, "[1]", "expected an integer ≥ 1 (epochs), got a list"},
      {whole, "inf", "expected an integer ≥ 1 (epochs), got inf"},
      {open, "0", "0.0"},
      {open, "0.0", "0.0"},
      {open, "0.9999999999999999", "0.9999999999999999"},
      {open, "1", "expected a number ≥ 0 and < 1, got 1"},
      {open, "-1e-300", "expected a number ≥ 0 and < 1, got -1e-300"},
      {open, "nan", "expected a number ≥ 0 and < 1, got nan; numbers must be finite"},
      {open, "-inf", "expected a number ≥ 0 and < 1, got -inf; numbers must be finite"},
      {open, "{}", "expected a number ≥ 0 and < 1, got a table"},
      {gh::real("x", nullptr, ""), "inf", "expected a number, got inf; numbers must be finite"},
      {gh::real("x", nullptr, "").above(0), "0.0", "expected a number > 0, got 0.0"},
      {gh::real("x", nullptr, "").above(0), "5e-324", "5e-324"},
      {gh::integer("x", nullptr, "").at_least(1).at_most(64), "64", "64"},
      {gh::integer("x", nullptr, "").at_least(1).at_most(64), "65",
       "expected an integer in 1 … 64, got 65"},
      {gh::integer("x", nullptr, "").below(9223372036854775807.), "9223372036854775807",
       "9223372036854775807"},
      {gh::integer("x", nullptr, "").below(3), "3", "expected an integer < 3, got 3"},
      {law, "\"step\"", "\"step\""},
      {law, "\"stpe\"",
       "expected one of exp, step, got the string \"stpe\"; did you mean \"step\"?"},
      {law, "1", "expected one of exp, step, got 1"},
      {gh::boolean("x", nullptr, ""), "1", "expected true or false, got 1"},
      {gh::text("x", nullptr, ""), "\"\"", "\"\""},
      {gh::text("x", nullptr, ""), "1", "expected a string, got 1"},
      {gh::path("x", nullptr, ""), "\"\"", "expected a path, got the string \"\""},
      {gh::path("x", nullptr, ""), "\"a\\u0000b\"",
       "expected a path, got the string \"a\\u0000b\""},
      {gh::integers("x", nullptr, "").at_least(1), "[]", "[]"},
      {gh::integers("x", nullptr, "").at_least(1), "[3, 0]", "expected an integer ≥ 1, got 0"},
      {gh::integers("x", nullptr, "").at_least(1), "3",
       "expected a list of integers, each ≥ 1, got 3"},
      {gh::reals("x", nullptr, ""), "[1, 2.5]", "[1.0, 2.5]"},
      {gh::texts("x", nullptr, ""), "[\"a\"]", "[\"a\"]"},
      {gh::table("x", nullptr, "", kFields), "{depth = 2}", "{ depth = 2 }"},
      {gh::table("x", nullptr, "", kFields), "2", "expected a table, got 2"},
      {gh::table("x", nullptr, "", kFields), "{}", "missing; expected an integer"},
  };
  for (const Case& c : cases) {
    INFO(c.param.name << " = " << c.text);
    CHECK(outcome(c.param, c.text) == c.outcome);
  }
}

TEST_CASE("a very long string is cut in the message") {
  const std::string text =
      outcome(gh::integer("x", nullptr, ""), "\"" + std::string(100'000, 'x') + "\"");
  CHECK(text.size() < 200);
}

TEST_CASE("strings, paths and choices may leave the quotes out of their default") {
  const auto default_of = [](const gh::Param& param) {
    return *read_schema(&param, 1, sizeof(gh_param_v1)).front().default_value->as<std::string>();
  };
  CHECK(default_of(gh::text("x", "true", "")) == "true");
  CHECK(default_of(gh::text("x", "\"a\"", "")) == "a");
  CHECK(default_of(gh::text("x", "", "")).empty());
  CHECK(default_of(gh::path("x", "~/data", "")) == "~/data");
  CHECK(default_of(gh::choice("x", "\"a\"", "a|b", "")) == "a");
}

TEST_CASE("a former name is taken with a warning and moved to the new one") {
  const gh::Param params[] = {gh::real("temperature", "0.2", "").above(0).formerly("tau")};
  const Schema schema = read_schema(params);
  Diagnostics out;
  const Table given = *parse_toml("tau = 0.5", "t.toml", out);
  const Table resolved = apply_schema(schema, given, {}, "method", {}, out);
  CHECK(to_toml(resolved) == "temperature = 0.5\n");
  const Diagnostic d = only(out);
  CHECK(d.level == Diagnostic::Level::warning);
  CHECK(d.key == "method.tau");
  CHECK(d.message == "is now called 'temperature'");

  Diagnostics both;
  apply_schema(schema, *parse_toml("tau = 0.5\ntemperature = 1", "t.toml", both), {}, "method", {},
               both);
  CHECK(only(both).message == "is the former name of 'temperature', which is also given; keep one");
}

TEST_CASE("paths become absolute: from their file, from the working directory, from home") {
  const gh::Param params[] = {gh::path("root", "sub", "")};
  const Schema schema = read_schema(params);
  const auto resolved = [&](const std::string& text, const Source& source) {
    Diagnostics out;
    Table given;
    if (!text.empty()) given.set("root", {text, source});
    const Table table = apply_schema(schema, given, source, "data", {}, out);
    REQUIRE_FALSE(out.has_errors());
    return *table.find("root")->as<std::string>();
  };
  const std::string here = std::filesystem::current_path().string();
  setenv("HOME", "/home/tester", 1);
  CHECK(resolved("a/./b/../c", {"/recipes/r.toml", 1, 1}) == "/recipes/a/c");
  CHECK(resolved("../x", {"/recipes/r.toml", 1, 1}) == "/x");
  CHECK(resolved("/abs", {"/recipes/r.toml", 1, 1}) == "/abs");
  CHECK(resolved("x", {"r.toml", 1, 1}) == here + "/x");
  CHECK(resolved("x", {"command line", 1, 1}) == here + "/x");
  CHECK(resolved("~/x", {"/recipes/r.toml", 1, 1}) == "/home/tester/x");
  CHECK(resolved("~user", {"/recipes/r.toml", 1, 1}) == "/recipes/~user");
  CHECK(resolved("", {"/recipes/r.toml", 1, 1}) == "/recipes/sub");  // the default
}

TEST_CASE("each path of a list is a path of its own") {
  const gh::Param params[] = {gh::paths("roots", "[\"sub\"]", "")};
  const Schema schema = read_schema(params);
  CHECK(schema[0].kind_name() == "list of paths");
  const auto resolved = [&](const char* text) {
    Diagnostics out;
    const Table given = *parse_toml(text, "/recipes/r.toml", out);
    const Table table = apply_schema(schema, given, {"/recipes/r.toml", 1, 1}, "data", {}, out);
    REQUIRE_FALSE(out.has_errors());
    const auto values = make_params(schema, table);
    std::vector<std::string> found;
    for (const std::string_view each : values->texts("roots")) found.emplace_back(each);
    return found;
  };
  setenv("HOME", "/home/tester", 1);
  CHECK(resolved("roots = [\"a/../b\", \"~/x\", \"/abs\"]") ==
        std::vector<std::string>{"/recipes/b", "/home/tester/x", "/abs"});
  CHECK(resolved("") == std::vector<std::string>{"/recipes/sub"});
  Diagnostics out;
  apply_schema(schema, *parse_toml("roots = [\"a\", \"\"]", "r.toml", out), {}, "data", {}, out);
  CHECK_THAT(only(out).message, Contains("expected a path"));
}

TEST_CASE("home is an error where it is needed and unknown") {
  const gh::Param params[] = {gh::path("root", nullptr, "")};
  Table given;
  given.set("root", {std::string("~/x"), {"r.toml", 1, 8}});
  unsetenv("HOME");
  Diagnostics out;
  apply_schema(read_schema(params), given, {}, "data", {}, out);
  setenv("HOME", "/home/tester", 1);
  CHECK_THAT(only(out).message, Contains("HOME"));
}

TEST_CASE("keys of somebody else are left alone but suggested") {
  const gh::Param params[] = {gh::integer("epochs", "1", "")};
  Diagnostics out;
  const Table given = *parse_toml("optimizer = 1\noptimiser = 2\n", "t.toml", out);
  const Table resolved = apply_schema(read_schema(params), given, {}, "train", {"optimizer"}, out);
  CHECK(to_toml(resolved) == "epochs = 1\n");
  CHECK(only(out).message ==
        "unknown key of [train]; did you mean 'optimizer'? Its keys are: epochs, optimizer");
}

TEST_CASE("every count that a recipe of the host takes has a largest value") {
  const std::function<void(const Schema&, const std::string&)> look = [&](const Schema& schema,
                                                                          const std::string& path) {
    for (const ParamSpec& p : schema) {
      const std::string key = join_path(path, p.name);
      INFO(key);
      const bool whole = p.kind == GH_PARAM_INT || p.kind == GH_PARAM_INT_LIST;
      if (whole && key != "seed") CHECK(p.max.has_value());  // a seed counts nothing
      look(p.fields, key);
    }
  };
  for (const HostTable& table : host_tables()) look(table.schema, table.path);
}
