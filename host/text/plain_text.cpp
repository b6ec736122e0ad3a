#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace gh::host {
namespace {

struct CodePoint {
  uint32_t value = 0;
  std::size_t bytes = 0;  // 0: not well-formed here
};

// The one that `text`, which is not empty, begins with.
CodePoint first_code_point(std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  if (c < 0x80) return {c, 1};
  const std::size_t more = c >= 0xc2 && c < 0xe0   ? 1
                           : (c >> 4) == 0xe       ? 2
                           : c >= 0xf0 && c < 0xf5 ? 3
                                                   : 0;
  if (more == 0 || more >= text.size()) return {};
  uint32_t point = c & (0x3fu >> more);
  for (std::size_t k = 1; k <= more; ++k) {
    const auto next = static_cast<unsigned char>(text[k]);
    if ((next & 0xc0) != 0x80) return {};
    point = (point << 6) | (next & 0x3f);
  }
  const bool overlong = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
  if (overlong || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {};
  return {point, more + 1};
}

// Calls `visit(bytes, code point)` for each piece of `text`; a byte that is not well-formed is a
// piece of its own, with a code point of no bytes.
template <class Visit>
void for_each_code_point(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t size = point.bytes > 0 ? point.bytes : 1;
    visit(text.substr(0, size), point);
    text.remove_prefix(size);
  }
}

bool is_control(uint32_t point) {
  return (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7f && point < 0xa0);
}

}  // namespace

// Asked of strings of any length, most of them ASCII.
bool is_plain_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= 0x20 && text[i] < 0x7f) {
      ++i;
      continue;
    }
    const CodePoint point = first_code_point(text.substr(i));
    if (point.bytes == 0 || is_control(point.value)) return false;
    i += point.bytes;
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for_each_code_point(text, [&](std::string_view bytes, const CodePoint& point) {
    out += point.bytes > 0 ? bytes : std::string_view("\ufffd");
  });
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for_each_code_point(text, [&](std::string_view bytes, const CodePoint& point) {
    if (point.bytes > 0 && !is_control(point.value))
      out += bytes;
    else
      for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  });
  return out;
}

}  // namespace gh::host
