#include "report/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

constexpr std::string_view kNothing = "—";

bool whole(double value) { return std::abs(value) < 1e15 && value == std::floor(value); }

bool plain_size(double value) {
  return value == 0 || (std::abs(value) >= 1e-3 && std::abs(value) < 1e6);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n') out += c;
    }
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= have ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string format_number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return std::string(kNothing);
  if (*value == 0) return "0";
  if (whole(*value)) return fmt::format("{:.0f}", *value);
  if (!plain_size(*value)) return fmt::format("{:.3e}", *value);
  // Decimals by magnitude, and never an exponent: 12.34, 0.05678.
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(*value))));
  return fmt::format("{:.{}f}", *value, std::max(0, 3 - magnitude));
}

std::vector<std::string> format_numbers(std::span<const std::optional<double>> values) {
  double largest = 0;
  bool all_whole = true, all_plain = true;
  for (const auto& value : values) {
    if (!value || !std::isfinite(*value)) continue;
    largest = std::max(largest, std::abs(*value));
    all_whole = all_whole && whole(*value);
    all_plain = all_plain && plain_size(*value);
  }
  std::vector<std::string> out;
  const int magnitude = largest > 0 ? static_cast<int>(std::floor(std::log10(largest))) : 0;
  const int decimals = all_whole ? 0 : std::clamp(3 - magnitude, 0, 6);
  for (const auto& value : values) {
    // A value that would lose its digits beside a much larger one is written on its own.
    const bool readable = value && std::isfinite(*value) && all_plain &&
                          (*value == 0 || std::abs(*value) * std::pow(10, decimals) >= 1);
    out.push_back(readable ? fmt::format("{:.{}f}", *value, decimals) : format_number(value));
  }
  return out;
}

std::string format_change(std::optional<double> change, std::span<const std::string> beside) {
  if (!change || !std::isfinite(*change)) return std::string(kNothing);
  std::size_t decimals = 0;
  for (const std::string& number : beside) {
    if (number.find('e') != number.npos) return fmt::format("{:+.3g}", *change);
    if (const auto point = number.find('.'); point != number.npos)
      decimals = std::max(decimals, number.size() - point - 1);
  }
  std::string out = fmt::format("{:+.{}f}", *change, decimals);
  if (out.find_first_of("123456789") == out.npos) out.erase(0, 1);  // no sign of nothing
  if (out[0] == '-') out.replace(0, 1, "−");
  return out;
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return std::string(kNothing);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole_seconds = static_cast<long long>(std::min(seconds + 0.5, 1e15));
  if (whole_seconds < 60) return fmt::format("{} s", whole_seconds);
  if (whole_seconds < 3600)
    return fmt::format("{} min {} s", whole_seconds / 60, whole_seconds % 60);
  return fmt::format("{} h {} min", whole_seconds / 3600, whole_seconds / 60 % 60);
}

std::string time_of_day(std::string text) {
  if (text.size() != 20 || text[10] != 'T' || text[19] != 'Z') return text;
  text[10] = ' ';
  return text.substr(0, 19) + " UTC";
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace gh::host
