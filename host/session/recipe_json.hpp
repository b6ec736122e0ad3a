// Tables of a recipe as JSON, for files that others read.
#pragma once

#include "recipe/value.hpp"

#include <nlohmann/json.hpp>

namespace gh::host {

nlohmann::ordered_json to_json(const Table& table);

}  // namespace gh::host
