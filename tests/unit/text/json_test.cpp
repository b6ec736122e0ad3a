#include "text/json.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace gh::host;
using Json = nlohmann::ordered_json;

std::string nested(int depth) {
  return fmt::format("{}{}", std::string(depth, '['), std::string(depth, ']'));
}

TEST_CASE("JSON is read to a depth that no stack minds and refused below it") {
  CHECK(parse_json(nested(kDeepestJson)).is_array());
  CHECK_THROWS_AS(parse_json(nested(kDeepestJson + 1)), nlohmann::json::parse_error);
  for (const int depth : {kDeepestJson + 1, 80'000, 3'000'000}) {
    CHECK(parse_json_or_discard(nested(depth)).is_discarded());
    std::string objects;
    for (int i = 0; i < depth; ++i) objects += "{\"a\":";
    CHECK(parse_json_or_discard<Json>(objects).is_discarded());
    CHECK_THROWS_AS(parse_json<Json>(objects), Json::parse_error);
  }
}

TEST_CASE("brackets inside of strings are no depth") {
  const std::string brackets(1000, '['), inside = fmt::format("\\\"{}\\\\", brackets);
  CHECK(parse_json(fmt::format("[\"{}\"]", inside))[0].get<std::string>().size() == 1002);
  const std::string deep = fmt::format("[\"\\\\\"{}", nested(kDeepestJson));
  CHECK(too_deep_at(deep) == 5 + kDeepestJson - 1);
  CHECK(too_deep_at(fmt::format("\"{}", brackets)) == std::string_view::npos);
}

TEST_CASE("keys come in the order of the text, as often as they are there") {
  using Keys = std::vector<std::string>;
  CHECK(json_keys(R"({"b": {"c": 1}, "a": [{"d": 2}], "b": null})") == Keys{"b", "a", "b"});
  CHECK(json_keys(R"({"b": 1, "a": )") == Keys{"b", "a"});
  CHECK(json_keys("[1, 2]").empty());
}

TEST_CASE("bytes that are no UTF-8 do not keep JSON from being written") {
  const Json json = {{"name\xff", "a\xc3"}, {"good", "ä"}};
  CHECK(json_text(json) == "{\"name\ufffd\":\"a\ufffd\",\"good\":\"ä\"}");
  CHECK(json_text(Json("\x1b \x7f \u009b \u00a0")) == "\"\\u001b \\u007f \\u009b \u00a0\"");
  CHECK(json_text(Json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
}

}  // namespace
