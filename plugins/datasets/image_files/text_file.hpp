// Lists and tables as text.
#pragma once

#include <string>
#include <string_view>

namespace image_files {

// The whole file without a UTF-8 byte order mark. `what` ("the list of train") begins the message
// when it is missing (missing_data), a directory (invalid_param) or unreadable (io).
std::string read_text(const std::string& path, std::string_view what);

// Takes the first line off `rest`, without "\n" or "\r\n". Not to be called with nothing left.
std::string_view next_line(std::string_view& rest);

// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace image_files
