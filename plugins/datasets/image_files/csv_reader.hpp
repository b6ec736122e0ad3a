// Comma-separated values as RFC 4180 has them: quotes, doubled quotes, commas and line breaks
// inside quotes, LF or CRLF. Empty lines are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace image_files {

class CsvReader {
 public:
  // `text` must outlive the reader; `file` is for messages.
  CsvReader(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  // The next row, or false at the end. Throws io naming file and line.
  bool next(std::vector<std::string>& fields);
  // "table.csv, line 7": where the last row began.
  std::string place() const;

 private:
  std::string field();
  std::string quoted_field();
  bool at_row_end() const;
  [[noreturn]] void refuse(int64_t line, std::string_view why) const;

  std::string_view rest_;
  std::string file_;
  int64_t line_ = 1;  // of rest_
  int64_t row_line_ = 0;
};

}  // namespace image_files
