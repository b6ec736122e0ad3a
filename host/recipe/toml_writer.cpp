#include "recipe/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace gh::host {
namespace {

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\u{:04X}", byte);
    else
      out += c;
  }
  return out += '"';
}

std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare ? key : quoted_text(key);
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> digits;
  const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), end);
  // "1" would read back as an integer.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool is_list_of_tables(const Value& value) {
  const Array* list = value.as<Array>();
  return list && !list->empty() && std::all_of(list->begin(), list->end(), [](const Value& v) {
           return v.as<Table>() != nullptr;
         });
}

std::string inline_table(const Table& table) {
  std::string out;
  for (const Entry& e : table.entries())
    out += (out.empty() ? "{ " : ", ") + key_text(e.key) + " = " + to_toml_value(e.value);
  return out.empty() ? "{}" : out + " }";
}

void write_table(const Table& table, const std::string& path, std::string& out) {
  for (const Entry& e : table.entries())
    if (!e.value.as<Table>() && !is_list_of_tables(e.value))
      out += key_text(e.key) + " = " + to_toml_value(e.value) + "\n";
  for (const Entry& e : table.entries()) {
    const std::string here = join_path(path, key_text(e.key));
    if (const Table* inner = e.value.as<Table>()) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", here);
      write_table(*inner, here, out);
    } else if (is_list_of_tables(e.value)) {
      for (const Value& element : *e.value.as<Array>()) {
        out += fmt::format("{}[[{}]]\n", out.empty() ? "" : "\n", here);
        write_table(*element.as<Table>(), here, out);
      }
    }
  }
}

}  // namespace

std::string to_toml_value(const Value& value) {
  if (const bool* v = value.as<bool>()) return *v ? "true" : "false";
  if (const int64_t* v = value.as<int64_t>()) return std::to_string(*v);
  if (const double* v = value.as<double>()) return float_text(*v);
  if (const std::string* v = value.as<std::string>()) return quoted_text(*v);
  if (const Table* v = value.as<Table>()) return inline_table(*v);
  std::string out;
  for (const Value& element : *value.as<Array>())
    out += (out.empty() ? "[" : ", ") + to_toml_value(element);
  return out.empty() ? "[]" : out + "]";
}

std::string to_toml(const Table& table) {
  std::string out;
  write_table(table, "", out);
  return out;
}

}  // namespace gh::host
