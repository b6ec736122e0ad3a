#include "text/plain_text.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh::host;

TEST_CASE("plain text is well-formed UTF-8 without control characters") {
  for (const char* good : {"", "plain", "line\nbreak\ttab", "π → ∞", "\xf0\x9f\x90\x98"})
    CHECK(is_plain_text(good));
  for (const char* bad : {"\x1b[31m", "\x7f", "\x80", "\xc0\xaf", "\xc3", "\xe0\x80\x80",
                          "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xf0\x9f\x90"})
    CHECK(!is_plain_text(bad));
}

TEST_CASE("text is made valid and shown without anything a terminal would obey") {
  struct Case {
    const char *given, *valid, *shown;
  };
  const Case cases[] = {{"plain ä\t€\n😀", "plain ä\t€\n😀", "plain ä\t€\n😀"},
                        {"\x1b[31mred", "\x1b[31mred", "\\x1b[31mred"},
                        {"a\rb\x7f", "a\rb\x7f", "a\\x0db\\x7f"},
                        {"c\xc2\x9b"
                         "1m",
                         "c\xc2\x9b"
                         "1m",
                         "c\\xc2\\x9b1m"},
                        {"\xff-", "\ufffd-", "\\xff-"},
                        {"cut \xe2\x82", "cut \ufffd\ufffd", "cut \\xe2\\x82"},
                        {"\xed\xa0\x80", "\ufffd\ufffd\ufffd", "\\xed\\xa0\\x80"},
                        {"\xc0\xaf", "\ufffd\ufffd", "\\xc0\\xaf"},
                        {"", "", ""}};
  for (const Case& c : cases) {
    CHECK(valid_utf8(c.given) == c.valid);
    CHECK(printable(c.given) == c.shown);
    CHECK(is_plain_text(printable(c.given)));
    CHECK(is_plain_text(c.given) == (printable(c.given) == c.given));
  }
}

}  // namespace
