#include "text_file.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <filesystem>

namespace image_files {
std::string read_text(const std::string& path, std::string_view what) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  gh::require(status.type() != std::filesystem::file_type::not_found, gh::ErrorCode::missing_data,
              what, ", ", path, ", does not exist");
  gh::require(!std::filesystem::is_directory(status), gh::ErrorCode::invalid_param, what, ", ",
              path, ", is a directory; expected a text file");
  std::string text = gh::read_regular_file(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace image_files
