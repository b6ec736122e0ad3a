#include "plugins/checked_json.hpp"

#include "plugins/elf_note.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace gh::host {

using Json = nlohmann::ordered_json;

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    throw std::invalid_argument(fmt::format("expected \"{}\", a text", printable(key)));
  const auto& text = found->get_ref<const std::string&>();
  if (!is_plain_text(text) || text.find_first_of("\n\t") != std::string::npos)
    throw std::invalid_argument(fmt::format("\"{}\" is no plain text", printable(key)));
  return text;
}

std::string name_in(const Json& object) {
  std::string name = text_in(object, "name");
  if (!is_component_id(name))
    throw std::invalid_argument(fmt::format("\"{}\" is no name of a plugin", name));
  return name;
}

std::string sha256_in(const Json& object) {
  std::string digits = text_in(object, "sha256");
  if (digits.size() != 64 || digits.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    throw std::invalid_argument(
        fmt::format("sha256: expected 64 hexadecimal digits, found \"{}\"", digits));
  return digits;
}

std::map<std::string, std::string> fingerprint_in(const Json& object) {
  const auto found = object.find("fingerprint");
  if (found == object.end() || !found->is_object())
    throw std::invalid_argument("expected \"fingerprint\", an object");
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : found->items()) out[key] = text_in(*found, key.c_str());
  return out;
}

const Json& list_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array())
    throw std::invalid_argument(fmt::format("expected \"{}\", a list", key));
  for (const Json& entry : *found)
    if (!entry.is_object())
      throw std::invalid_argument(fmt::format("expected objects in \"{}\"", key));
  return *found;
}

void require_format(const Json& object, const char* key, int format) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || *found != format)
    throw std::invalid_argument(fmt::format("expected \"{}\": {}", key, format));
}

}  // namespace gh::host
