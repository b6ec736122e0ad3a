// Values as text: numbers, durations, HTML.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// Text for HTML content and quoted attributes. Control characters other than tab and newline go.
std::string escape_html(std::string_view text);

// Control characters become spaces: one line that moves no terminal's cursor.
std::string one_line(std::string_view text);

std::string base64(std::string_view bytes);

// Four significant digits; whole numbers whole; "—" for nothing and for what is not finite.
std::string format_number(std::optional<double> value);

// Numbers to be read against each other: the same number of decimals for all, where their sizes
// allow.
std::vector<std::string> format_numbers(std::span<const std::optional<double>> values);

// A difference with its sign, with as many decimals as the numbers `beside` it: "+1.10".
std::string format_change(std::optional<double> change, std::span<const std::string> beside);

// "0.8 s", "2 min 5 s", "3 h 20 min".
std::string format_duration(double seconds);

// "2025-01-31 12:00:00 UTC" of "2025-01-31T12:00:00Z"; other texts as they are.
std::string time_of_day(std::string text);

// Columns on a terminal: code points of UTF-8 text.
std::size_t display_width(std::string_view text);

}  // namespace gh::host
