#include "csv_reader.hpp"

#include "gh/error.hpp"

namespace image_files {

bool CsvReader::next(std::vector<std::string>& fields) {
  do {
    if (rest_.empty()) return false;
    row_line_ = line_;
    fields.clear();
    fields.push_back(field());
    while (rest_.starts_with(',')) {
      rest_.remove_prefix(1);
      fields.push_back(field());
    }
    if (rest_.starts_with('\r')) rest_.remove_prefix(1);
    if (rest_.starts_with('\n')) {
      rest_.remove_prefix(1);
      ++line_;
    }
  } while (fields.size() == 1 && fields[0].empty());
  return true;
}

std::string CsvReader::place() const { return file_ + ", line " + std::to_string(row_line_); }

std::string CsvReader::field() {
  if (rest_.starts_with('"')) return quoted_field();
  std::string text;
  while (!at_row_end() && rest_.front() != ',') {
    if (rest_.front() == '"') refuse(line_, "a quote inside a field that does not begin with one");
    text += rest_.front();
    rest_.remove_prefix(1);
  }
  return text;
}

std::string CsvReader::quoted_field() {
  const int64_t began = line_;
  std::string text;
  for (rest_.remove_prefix(1);; rest_.remove_prefix(1)) {
    if (rest_.empty()) refuse(began, "a quote is never closed");
    if (rest_.starts_with("\"\""))
      rest_.remove_prefix(1);
    else if (rest_.front() == '"')
      break;
    if (rest_.front() == '\n') ++line_;
    text += rest_.front();
  }
  rest_.remove_prefix(1);
  if (!at_row_end() && rest_.front() != ',') refuse(line_, "text after a closing quote");
  return text;
}

bool CsvReader::at_row_end() const {
  return rest_.empty() || rest_ == "\r" || rest_.starts_with('\n') || rest_.starts_with("\r\n");
}

void CsvReader::refuse(int64_t line, std::string_view why) const {
  gh::fail(gh::ErrorCode::io, file_, ", line ", line, ": ", why);
}

}  // namespace image_files
