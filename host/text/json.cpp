#include "text/json.hpp"

#include <fmt/format.h>

namespace gh::host {
namespace {

// Of all that a parser finds, the keys of the outermost object.
struct KeyCollector final : nlohmann::json_sax<nlohmann::json> {
  std::vector<std::string> keys;
  int depth = 0;

  bool key(string_t& name) override {
    if (depth == 1) keys.push_back(std::move(name));
    return true;
  }
  bool start_object(std::size_t) override { return ++depth > 0; }
  bool end_object() override { return --depth >= 0; }
  bool start_array(std::size_t) override { return ++depth > 0; }
  bool end_array() override { return --depth >= 0; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }
};

}  // namespace

// Agrees with the parser on what is inside of a string up to the first place where the text is no
// JSON, and there the parser stops.
std::size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

std::vector<std::string> json_keys(std::string_view text) {
  KeyCollector collector;
  nlohmann::json::sax_parse(text, &collector);
  return std::move(collector.keys);
}

std::string with_escaped_controls(std::string text) {
  if (text.find_first_of("\x7f\xc2") == std::string::npos) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == 0x7f) {
      out += "\\u007f";
    } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 … U+009F
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace gh::host
