// Loads a bundled plugin's component for a test, with parameters given as TOML.
#pragma once

#include "plugins/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"
#include "support/places.hpp"

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

template <class Interface>
struct Loaded {
  std::unique_ptr<Params> params;
  host::ComponentPtr<Interface> component;
  Interface* operator->() const { return component.get(); }
};

template <class Interface>
Loaded<Interface> load(const std::string& id, const std::string& toml = "") {
  const auto found = bundled_plugins().find(InterfaceOf<Interface>::kind, id);
  if (!found.schema) throw std::runtime_error(found.problem);
  host::Diagnostics problems;
  const auto table = host::parse_toml(toml, "test", problems);
  host::Table resolved;
  if (table) resolved = host::apply_schema(*found.schema, *table, {}, id, {}, problems);
  if (problems.has_errors()) throw std::runtime_error(problems.text());
  Loaded<Interface> out;
  out.params = host::make_params(*found.schema, resolved);
  out.component = bundled_plugins().create<Interface>(id, *out.params);
  return out;
}

// Complaints as text, one a line.
class CollectedComplaints final : public Complaints {
 public:
  void add(std::string_view key, std::string_view message) override {
    text += std::string(key) + ": " + std::string(message) + "\n";
  }
  std::string text;
};

}  // namespace gh::test
