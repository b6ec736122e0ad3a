// Loads a bundled plugin's component for a test, with parameters given as TOML.
#pragma once

#include "plugins/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"
#include "support/places.hpp"

#include "gh/testing/plugins.hpp"

#include <memory>
#include <stdexcept>
#include <string>

namespace gh::test {

inline host::Registry& bundled_plugins() {
  static host::Registry registry([] {
    host::SearchPath path;
    path.places = {{build_dir() / "lib/ghhost/plugins", "test"}};
    return path;
  }());
  return registry;
}

using testing::Loaded;

template <class Interface>
Loaded<Interface> load(const std::string& id, const std::string& toml = "") {
  const auto found = bundled_plugins().find(InterfaceOf<Interface>::kind, id);
  if (!found.schema) throw std::runtime_error(found.problem);
  host::Diagnostics problems;
  const auto table = host::parse_toml(toml, "test", problems);
  host::Table resolved;
  if (table) resolved = host::apply_schema(*found.schema, *table, {}, id, {}, problems);
  if (problems.has_errors()) throw std::runtime_error(problems.text());
  auto params = host::make_params(*found.schema, resolved);
  auto made = bundled_plugins().create<Interface>(id, *params);
  const auto destroy = made.get_deleter().destroy;
  return {std::move(params), {made.release(), destroy}};
}

using CollectedComplaints = testing::HeardComplaints;

}  // namespace gh::test
