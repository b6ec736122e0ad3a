#include "data/index_file.hpp"

#include "text/json.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace gh::host {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are read as they lie");

struct Listing {
  std::vector<int64_t> values;
  std::vector<int64_t> lines;  // of each value, from 1; empty where the format has no lines
};

// The beginning of something unexpected, for a message that may go to a terminal or into JSON.
std::string excerpt(std::string_view text) {
  std::string out(text.substr(0, 40));
  for (char& c : out)
    if (c < 0x20 || c > 0x7e) c = '?';
  return '"' + out + (text.size() > 40 ? "…\"" : "\"");
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// ---- text ---------------------------------------------------------------------------------------

Listing read_text(std::string_view text, const std::filesystem::path& file) {
  Listing out;
  for (int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view word = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    require(error == std::errc() && stop == word.data() + word.size(), ErrorCode::io, file.string(),
            ":", line, ": expected an integer, got ", excerpt(word));
    out.values.push_back(value);
    out.lines.push_back(line);
  }
  return out;
}

// ---- JSON ---------------------------------------------------------------------------------------

Listing read_json(const std::string& text, const std::filesystem::path& file) {
  nlohmann::json content;
  try {
    content = parse_json(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t before = std::min(error.byte, text.size());
    fail(ErrorCode::io, file.string(), ":",
         1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(before), '\n'),
         ": this is not JSON");
  }
  const bool has_key = content.is_object() && content.contains("chosen");
  const nlohmann::json& list = has_key ? content["chosen"] : content;
  require(list.is_array(), ErrorCode::io, file.string(),
          ": expected an array of positions, alone or under the key \"chosen\"");
  Listing out;
  for (const nlohmann::json& entry : list) {
    // Unsigned numbers beyond int64 would wrap.
    const bool fits = entry.is_number_integer() &&
                      !(entry.is_number_unsigned() && entry.get<uint64_t>() > uint64_t{INT64_MAX});
    require(fits, ErrorCode::io, file.string(), ": entry ", out.values.size(),
            " (from 0): expected an integer, got ", excerpt(json_text(entry)));
    out.values.push_back(entry.get<int64_t>());
  }
  return out;
}

// ---- NumPy --------------------------------------------------------------------------------------

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads the Python literal of a header: {'descr': '<i8', 'fortran_order': False, 'shape': (5,), }.
// Each function skips space and gives nothing where it finds something else.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  bool accept(std::string_view token) {
    skip_space();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  std::optional<std::string> string() {
    const char* quote = accept("'") ? "'" : accept("\"") ? "\"" : nullptr;
    return quote ? up_to(quote) : std::nullopt;
  }
  std::optional<bool> boolean() {
    if (accept("True")) return true;
    return accept("False") ? std::optional(false) : std::nullopt;
  }
  std::optional<std::vector<int64_t>> tuple() {
    std::vector<int64_t> out;
    if (!accept("(")) return std::nullopt;
    while (!accept(")")) {
      skip_space();
      int64_t value = 0;
      const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) return std::nullopt;
      text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()));
      accept("L");  // Python 2
      out.push_back(value);
      accept(",");
    }
    return out;
  }
  // Everything before `end`, which is passed over too.
  std::optional<std::string> up_to(std::string_view end) {
    const std::size_t at = text_.find(end);
    if (at == text_.npos) return std::nullopt;
    std::string out(text_.substr(0, at));
    text_.remove_prefix(at + end.size());
    return out;
  }

 private:
  void skip_space() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size()));
  }
  std::string_view text_;
};

std::optional<NpyHeader> parse_header(std::string_view text) {
  LiteralReader reader(text);
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
  if (!reader.accept("{")) return std::nullopt;
  while (!reader.accept("}")) {
    const auto key = reader.string();
    if (!key || !reader.accept(":")) return std::nullopt;
    if (*key == "descr" && reader.accept("["))
      descr = reader.up_to("]");  // the fields of a record
    else if (*key == "descr")
      descr = reader.string();
    else if (*key == "fortran_order")
      fortran_order = reader.boolean();
    else if (*key == "shape")
      shape = reader.tuple();
    else
      return std::nullopt;
    reader.accept(",");
  }
  if (!descr || !fortran_order || !shape) return std::nullopt;
  return NpyHeader{*descr, *fortran_order, *shape};
}

std::string text_of(const std::vector<int64_t>& shape) {
  std::string out = "(";
  for (const int64_t size : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  return out + ")";
}

// Cuts the header off `bytes`.
NpyHeader take_header(std::string_view& bytes, const std::string& name) {
  require(bytes.starts_with("\x93NUMPY") && bytes.size() >= 10, ErrorCode::io, name,
          ": this is no npy file, or a damaged one: it does not begin as they do");
  const int version = static_cast<unsigned char>(bytes[6]);
  require(version >= 1 && version <= 3, ErrorCode::unsupported, name, ": npy version ", version,
          "; versions 1 to 3 are understood");
  const std::size_t width = version == 1 ? 2 : 4;  // bytes of the length
  uint32_t length = 0;
  std::memcpy(&length, bytes.substr(8).data(), std::min(width, bytes.size() - 8));
  require(bytes.size() >= 8 + width + length, ErrorCode::io, name,
          ": the npy header is cut off; the file is truncated or damaged");
  const auto header = parse_header(bytes.substr(8 + width, length));
  require(header.has_value(), ErrorCode::io, name, ": the npy header is damaged");
  bytes.remove_prefix(8 + width + length);
  return *header;
}

template <class Integer>
std::vector<int64_t> widen(std::string_view bytes) {
  std::vector<Integer> stored(bytes.size() / sizeof(Integer));
  if (!stored.empty()) std::memcpy(stored.data(), bytes.data(), stored.size() * sizeof(Integer));
  return {stored.begin(), stored.end()};
}

Listing read_npy(std::string_view bytes, const std::filesystem::path& file) {
  const std::string name = file.string();
  const NpyHeader header = take_header(bytes, name);
  require(header.descr == "<i8" || header.descr == "<i4", ErrorCode::io, name,
          ": expected little-endian int64 or int32 (<i8, <i4), got ", excerpt(header.descr));
  require(!header.fortran_order, ErrorCode::io, name, ": expected C order, got Fortran order");
  require(header.shape.size() == 1, ErrorCode::io, name, ": expected one dimension, got shape ",
          text_of(header.shape));
  const std::size_t size = header.descr == "<i8" ? 8 : 4;
  require(bytes.size() % size == 0 && static_cast<uint64_t>(header.shape[0]) == bytes.size() / size,
          ErrorCode::io, name, ": the header announces ", header.shape[0], " numbers of ", size,
          " bytes; ", bytes.size(), " bytes follow");
  return {size == 8 ? widen<int64_t>(bytes) : widen<int32_t>(bytes), {}};
}

// ---- all ----------------------------------------------------------------------------------------

std::string place(const Listing& list, std::size_t i, const std::filesystem::path& file) {
  if (!list.lines.empty()) return file.string() + ":" + std::to_string(list.lines[i]);
  return file.string() + ": entry " + std::to_string(i) + " (from 0)";
}

void check_positions(const Listing& list, int64_t samples, const std::filesystem::path& file) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> seen(static_cast<std::size_t>(samples), kNone);
  for (std::size_t i = 0; i < list.values.size(); ++i) {
    const int64_t position = list.values[i];
    require(position >= 0 && position < samples, ErrorCode::invalid_param, place(list, i, file),
            ": position ", position, " does not exist; there are ", samples,
            " samples, counted from 0");
    std::size_t& first = seen[static_cast<std::size_t>(position)];
    if (first != kNone)
      fail(ErrorCode::invalid_param, place(list, i, file), ": position ", position,
           " is there already, at ", place(list, first, file));
    first = i;
  }
}

}  // namespace

std::vector<int64_t> read_index_file(const std::filesystem::path& file, int64_t samples) {
  const std::string content = read_regular_file(file.string());
  Listing list = file.extension() == ".npy"    ? read_npy(content, file)
                 : file.extension() == ".json" ? read_json(content, file)
                                               : read_text(content, file);
  require(!list.values.empty(), ErrorCode::io, file.string(), " lists no positions");
  check_positions(list, samples, file);
  return std::move(list.values);
}

}  // namespace gh::host
