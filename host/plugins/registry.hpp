// Finding, checking and loading plugins. Ten steps, each with its own error code; the first five
// read the file and run nothing of it, and the sixth happens in a child process first, so that a
// plugin that crashes is a message.
#pragma once

#include "gh/component.hpp"
#include "plugins/elf_note.hpp"
#include "plugins/plugin_error.hpp"
#include "plugins/search_path.hpp"
#include "recipe/recipe.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

struct ComponentInfo {
  gh_kind kind;
  std::string id;
  std::string doc;
  std::string paper, views, state, ranks;  // as in gh::ComponentFacts; empty: not said
  uint32_t flags = 0;
  uint32_t threads = 0;
  uint32_t sdk_minor = 0;  // that its plugin was built for
  Schema schema;
  void* (*create)(const void*) = nullptr;
  void (*destroy)(void*) = nullptr;
  void (*validate)(const void*, void*) = nullptr;
};

// What a manifest said, copied.
struct LoadedPlugin {
  std::filesystem::path file;
  std::string sha256;
  PluginNote note;
  std::string license, authors, url, doc;
  std::vector<ComponentInfo> components;
};

// Name, version, file, hash and components of each, for environment.json.
nlohmann::ordered_json describe_plugins(const std::vector<LoadedPlugin>& plugins);

// A plugin file that was found; nothing of it has run.
struct PluginFile {
  std::filesystem::path file;
  std::string sha256;                // empty where it could not be read
  std::string origin;                // as in SearchPath::Place
  bool named = false;                // by --plugin itself, not found in a directory
  std::optional<PluginNote> note;    // as far as it could be read
  std::optional<PluginError> error;  // why it is not used
  // An earlier file of the path has the same name or provides one of its components, so this one is
  // not used at all.
  std::optional<std::filesystem::path> shadowed_by;

  bool usable() const { return !error && !shadowed_by; }
};

class PluginLock;  // plugins/lock_file.hpp

struct LoadOptions {
  // How long a plugin may take to load before it counts as hanging.
  std::chrono::milliseconds probe_timeout{10'000};
  // False only in a process that is itself a child made for the purpose.
  bool probe = true;
  // Where given, builds that it does not have are refused (not_locked).
  std::shared_ptr<const PluginLock> lock = nullptr;
  // Where given, a component whose first plugin cannot be loaded is taken from the next that
  // provides it, and this is told why. Not past a file that --plugin names.
  std::function<void(const std::string& reason)> pass_over = nullptr;
};

// Owns a component made by a plugin; destroys it with the plugin's own function.
struct ComponentDeleter {
  void (*destroy)(void*) = nullptr;
  template <class Interface>
  void operator()(Interface* component) const {
    destroy(component);
  }
};
template <class Interface>
using ComponentPtr = std::unique_ptr<Interface, ComponentDeleter>;

// Main thread, before workers start; create() and info() afterwards from any thread. Plugins stay
// in memory when it goes.
class Registry : public Catalog {
 public:
  explicit Registry(SearchPath path, LoadOptions options = {});
  ~Registry() override;

  const SearchPath& search_path() const;

  // Steps 1–5 for every file on the search path; runs no plugin code. Sorted by place, then name.
  // Read on first use.
  const std::vector<PluginFile>& files() const;

  // All steps for one file, on the search path or not; components become available all or none. A
  // file that is loaded already stays so.
  std::optional<PluginError> load(const std::filesystem::path& file);
  const std::vector<LoadedPlugin>& loaded() const;

  // Why files that --plugin names cannot be used, a paragraph each; "" when all can be. While there
  // is one, find() finds nothing: who names a file means this one or none.
  std::string refused_by_name() const;

  // Catalog: loads, on first use, the first plugin on the path whose note provides kind/id. Files
  // that merely lie on the path, however broken, do not matter. `schema` stays valid as long as the
  // registry.
  Found find(gh_kind kind, const std::string& id) override;

  // Ids of that kind that some usable file provides, sorted.
  std::vector<std::string> provided(gh_kind kind) const;

  // The component must be loaded; ErrorCode::internal otherwise.
  const ComponentInfo& info(gh_kind kind, const std::string& id) const;

  // Makes a component. What create throws becomes a gh::Error that names component, code and
  // message. `params` must outlive it.
  template <class Interface>
  ComponentPtr<Interface> create(const std::string& id, const Params& params) {
    const ComponentInfo& c = info(InterfaceOf<Interface>::kind, id);
    return ComponentPtr<Interface>(static_cast<Interface*>(create_raw(c, params)),
                                   ComponentDeleter{c.destroy});
  }

 private:
  void* create_raw(const ComponentInfo& component, const Params& params);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gh::host
