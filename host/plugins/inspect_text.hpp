// A loaded plugin in words and as JSON.
#pragma once

#include "plugins/registry.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace gh::host {

std::string plugin_as_text(const LoadedPlugin& plugin);
nlohmann::ordered_json plugin_as_json(const LoadedPlugin& plugin);

}  // namespace gh::host
