// Values of files that others wrote (lock, index), as what they have to be. All throw
// std::invalid_argument with what is wrong.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace gh::host {

// A text on one line that can be shown.
std::string text_in(const nlohmann::ordered_json& object, const char* key);
// Of a plugin.
std::string name_in(const nlohmann::ordered_json& object);
// 64 hexadecimal digits.
std::string sha256_in(const nlohmann::ordered_json& object);
std::map<std::string, std::string> fingerprint_in(const nlohmann::ordered_json& object);
// A list of objects.
const nlohmann::ordered_json& list_in(const nlohmann::ordered_json& object, const char* key);
// `key` must be there and be this number.
void require_format(const nlohmann::ordered_json& object, const char* key, int format);

}  // namespace gh::host
