// Text from outside (names of files, classes, plugins; what they print) before it is shown.
#pragma once

#include <string>
#include <string_view>

namespace gh::host {

// Text that can be shown and put into JSON: well-formed UTF-8 without control characters other than
// line feed and tab.
bool is_plain_text(std::string_view text);

// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

// `text` for a terminal: control characters other than line feed and tab, among them those beyond
// ASCII (U+0080 to U+009F), and bytes that are not UTF-8 are written as \x1b. What is plain stays
// as it is.
std::string printable(std::string_view text);

}  // namespace gh::host
