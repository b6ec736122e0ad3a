#include "session/recipe_json.hpp"

#include "run/run_directory.hpp"

namespace gh::host {
namespace {

nlohmann::ordered_json to_json(const Value& value) {
  if (const Table* table = value.as<Table>()) return host::to_json(*table);
  if (const Array* array = value.as<Array>()) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const Value& each : *array) out.push_back(to_json(each));
    return out;
  }
  if (const std::string* text = value.as<std::string>()) return *text;
  if (const bool* truth = value.as<bool>()) return *truth;
  if (const int64_t* number = value.as<int64_t>()) return *number;
  return json_number(*value.as<double>());
}

}  // namespace

nlohmann::ordered_json to_json(const Table& table) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Entry& entry : table.entries()) out[entry.key] = to_json(entry.value);
  return out;
}

}  // namespace gh::host
