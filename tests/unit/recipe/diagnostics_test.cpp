#include "recipe_fixture.hpp"

using namespace gh::host;
using namespace gh::host::test;

TEST_CASE("the nearest key is found for typos, abbreviations and other spellings") {
  struct Case {
    std::string word, expected;
  };
  const std::vector<std::string> keys{
      "temperature", "warm_up", "warm_up_momentum", "epochs", "id", "k", "lr", "lr_min"};
  const auto [word, expected] = GENERATE(values<Case>({
      {"temprature", "temperature"},
      {"temperatuer", "temperature"},
      {"temp", "temperature"},
      {"Warm-Up", "warm_up"},
      {"warmup", "warm_up"},
      {"epoch", "epochs"},
      {"di", "id"},
      {"ids", "id"},
      {"l_r", "lr"},
      {"q", ""},
      {"completely_else", ""},
      {"", ""},
  }));
  CAPTURE(word);
  CHECK(nearest(word, keys) == expected);
}

TEST_CASE("an endless word has no nearest key") {
  CHECK(nearest(std::string(1'000'000, 'a'), {"aa", std::string(1'000'000, 'a')}).empty());
  CHECK(nearest("a", {}).empty());
}

TEST_CASE("diagnostics show the place, the line and a caret") {
  const TempDir dir;
  const std::string file = dir.write("r.toml", "a = 1\r\n\tb = \"ä\" # c\n").string();
  Diagnostics out;
  out.error({file, 2, 11}, "b", "expected an integer");
  CHECK(out.text() ==
        file +
            ":2:11: error: b: expected an integer\n    2 |  b = \"ä\" # c\n      |           ^\n");
}

TEST_CASE("diagnostics come in the order of the file, whatever the order of discovery") {
  Diagnostics out;
  out.error({"x", 9, 1}, "late", "m");
  out.warning({"x", 2, 5}, "early", "m");
  out.error({"x", 2, 1}, "", "m");
  CHECK(out.text() == "x:2:1: error: m\nx:2:5: warning: early: m\nx:9:1: error: late: m\n");
  CHECK(out.error_count() == 2);
}

TEST_CASE("a warning is no error") {
  Diagnostics out;
  CHECK_FALSE(out.has_errors());
  out.warning({}, "a", "m");
  CHECK_FALSE(out.has_errors());
  out.error({}, "", "m");
  CHECK(out.has_errors());
}

TEST_CASE("a long line is cut around the caret") {
  Diagnostics out;
  out.set_text("t", std::string(5000, 'x') + "!" + std::string(5000, 'y'));
  out.error({"t", 1, 5001}, "", "m");
  const std::string text = out.text();
  CHECK(text.size() < 500);
  const std::size_t line = text.find(" | ") + 3, caret = text.rfind(" | ") + 3;
  const std::size_t offset = text.find('^') - caret;
  // The ellipsis takes three bytes and one column.
  CHECK(text[line + offset + 2] == '!');
}

TEST_CASE("bytes a terminal would obey are not quoted") {
  Diagnostics out;
  out.set_text("t", "a\x1b[31m\xff z");
  out.error({"t", 1, 1}, "", "m");
  CHECK(out.text() == "t:1:1: error: m\n    1 | a?[31m? z\n      | ^\n");
}
