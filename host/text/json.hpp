// JSON as it goes into files and comes out of them. Whoever reads or writes a file of JSON does it
// here: files may have been damaged or made to harm, and names in them may be any bytes.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// Values inside values. Copying and destroying a value takes a piece of the stack for each level.
inline constexpr int kDeepestJson = 64;

// Where in `text` the first bracket stands that opens a level below kDeepestJson; npos: nowhere.
std::size_t too_deep_at(std::string_view text);

// Throws nlohmann::json::parse_error, also when it is nested deeper than kDeepestJson.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text) {
  if (const std::size_t at = too_deep_at(text); at != std::string_view::npos)
    throw Json::parse_error::create(101, at, "nested too deeply", nullptr);
  return Json::parse(text);
}

// The same without exceptions: a discarded value (is_object() and its like are false) for what is
// no JSON.
template <class Json = nlohmann::json>
Json parse_json_or_discard(std::string_view text) {
  if (too_deep_at(text) != std::string_view::npos) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// The keys of an object in the order of the text, as often as they are there; where `text` is no
// JSON, those before the first mistake.
std::vector<std::string> json_keys(std::string_view text);

// JSON as the library writes it has control characters beyond U+001F as they are.
std::string with_escaped_controls(std::string text);

// `json` as text, in lines indented by `indent` unless it is negative. Bytes that are not UTF-8, as
// names of files and classes may hold, become U+FFFD, and there is nothing in it that a terminal
// would obey.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return with_escaped_controls(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace gh::host
