#include "run/metrics_csv.hpp"

#include "files/file_write.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

// A text as a cell. The empty one is quoted, to be told from nothing.
std::string text_cell(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos;
  return plain ? std::string(text) : quoted(text);
}

std::string cell(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return text_cell(value.get_ref<const std::string&>());
  return text_cell(json_text(value));
}

// Cuts at `separator` outside of quotes; what follows the last one is dropped when it ends rows.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  bool inside = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    if (inside || text[i] != separator) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (separator != '\n') out.push_back(text.substr(begin));
  return out;
}

std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return std::string(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    out += text[i];
    if (text[i] == '"') ++i;
  }
  return out;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  require(in.good(), ErrorCode::io, "cannot read ", file.string(), ": ", std::strerror(errno));
  return {std::istreambuf_iterator<char>(in), {}};
}

void flatten_into(const nlohmann::ordered_json& object, const std::string& prefix,
                  std::vector<std::pair<std::string, std::string>>& out) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object())
      flatten_into(value, prefix + key + ".", out);
    else
      out.emplace_back(prefix + key, cell(value));
  }
}

}  // namespace

MetricsCsv::MetricsCsv(fs::path file) : file_(std::move(file)) {
  if (!fs::exists(file_)) return;
  const std::string content = content_of(file_);
  const std::vector<std::string_view> rows = split(content, '\n');
  std::size_t whole = 0;
  for (const std::string_view row : rows) whole += row.size() + 1;
  if (whole < content.size()) replace(std::string_view(content).substr(0, whole));
  if (rows.empty()) return;
  for (const std::string_view name : split(rows.front(), ',')) columns_.push_back(unquoted(name));
}

MetricsCsv::Cells MetricsCsv::flatten(const nlohmann::ordered_json& line) {
  require(line.is_object(), ErrorCode::io, "a line of metrics must be an object, got ",
          line.type_name());
  Cells out;
  flatten_into(line, "", out);
  return out;
}

bool MetricsCsv::take_columns(const Cells& cells) {
  const std::size_t before = columns_.size();
  for (const auto& [column, text] : cells)
    if (std::find(columns_.begin(), columns_.end(), column) == columns_.end())
      columns_.push_back(column);
  return columns_.size() > before;
}

std::string MetricsCsv::header() const {
  Cells names;
  for (const std::string& column : columns_) names.emplace_back(column, text_cell(column));
  return row(names);
}

std::string MetricsCsv::row(const Cells& cells) const {
  std::string out;
  for (const std::string& column : columns_) {
    if (&column != &columns_.front()) out += ',';
    const auto found = std::find_if(cells.begin(), cells.end(),
                                    [&](const auto& entry) { return entry.first == column; });
    if (found != cells.end()) out += found->second;
  }
  return out + "\n";
}

void MetricsCsv::add(const nlohmann::ordered_json& line) {
  const Cells cells = flatten(line);
  if (take_columns(cells)) widen();
  if (columns_.empty()) return;
  if (!out_.is_open()) out_.open(file_, std::ios::binary | std::ios::app);
  out_ << row(cells) << std::flush;
  require(out_.good(), ErrorCode::io, "cannot write ", file_.string(), ": ", std::strerror(errno));
}

// New columns are the last, so that old rows only grow commas.
void MetricsCsv::widen() {
  std::string content = header();
  const std::string old = fs::exists(file_) ? content_of(file_) : std::string();
  const std::vector<std::string_view> rows = split(old, '\n');
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::size_t cells = split(rows[i], ',').size();
    require(cells <= columns_.size(), ErrorCode::io, file_.string(), ": row ", i, " has ", cells,
            " cells under a header of fewer; remove the file to have it made anew");
    content += rows[i];
    content.append(columns_.size() - cells, ',');
    content += '\n';
  }
  replace(content);
}

void MetricsCsv::replace(std::string_view content) {
  out_.close();
  write_file_atomically(file_, content, Durability::renamed);
}

void MetricsCsv::rebuild(const fs::path& jsonl, const fs::path& csv) {
  MetricsCsv table;
  table.file_ = csv;
  std::vector<Cells> lines;
  const std::string content = content_of(jsonl);
  for (std::size_t begin = 0, end; begin < content.size(); begin = end + 1) {
    end = std::min(content.find('\n', begin), content.size());
    const auto line = parse_json_or_discard<nlohmann::ordered_json>(
        std::string_view(content).substr(begin, end - begin));
    if (line.is_discarded() && end == content.size()) break;  // cut off by a crash
    require(line.is_object(), ErrorCode::io, jsonl.string(), ": line ", lines.size() + 1,
            " is not an object");
    lines.push_back(flatten(line));
    table.take_columns(lines.back());
  }
  std::string out = table.columns_.empty() ? std::string() : table.header();
  for (const Cells& cells : lines) out += table.row(cells);
  table.replace(out);
}

}  // namespace gh::host
