// metrics.jsonl as a table, for spreadsheets and data frames: one row an epoch. Nested objects
// become columns with dots ("top1.head"), columns stand in order of first appearance, what a row
// does not have is empty, and so is null. Numbers are written as JSON writes them; texts are quoted
// where RFC 4180 asks for it, arrays are texts of JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gh::host {

class MetricsCsv {
 public:
  // Goes on with `file` where there is one; a last row cut off by a crash is dropped. Throws
  // gh::Error (io), as the other functions do.
  explicit MetricsCsv(std::filesystem::path file);

  // Appends a row and flushes. An object with a key not seen before rewrites the file, atomically.
  void add(const nlohmann::ordered_json& line);

  // Makes `csv` from the lines of `jsonl`, atomically.
  static void rebuild(const std::filesystem::path& jsonl, const std::filesystem::path& csv);

 private:
  MetricsCsv() = default;
  using Cells = std::vector<std::pair<std::string, std::string>>;  // column, text as in the file
  static Cells flatten(const nlohmann::ordered_json& line);
  bool take_columns(const Cells& cells);  // whether there was a new one
  std::string header() const;
  std::string row(const Cells& cells) const;
  void widen();  // rewrites the file with the columns of now
  void replace(std::string_view content);

  std::filesystem::path file_;
  std::vector<std::string> columns_;
  std::ofstream out_;
};

}  // namespace gh::host
