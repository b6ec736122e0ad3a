// Parameters of heads, as methods declare them. Compiled into the plugin, so it may change between
// minors.
#pragma once

#include "gh/params.hpp"

namespace gh::parts {

// Whether there is a projector; `doc` says what it is made of.
constexpr Param projector_param(const char* doc) {
  return choice("projector", "mlp", "mlp|none", doc);
}
constexpr Param width_param(const char* name, const char* default_toml, const char* doc) {
  return integer(name, default_toml, doc).at_least(1).at_most(65536);
}
// Inside a projector; 0: that of the features.
constexpr Param hidden_param(const char* default_toml, const char* doc) {
  return integer("hidden", default_toml, doc).at_least(0).at_most(65536);
}

}  // namespace gh::parts
