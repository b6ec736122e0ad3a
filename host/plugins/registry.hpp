// Finding, checking and loading plugins. Ten steps, each with its own error code; the first five read the file and run nothing of
// it, and the sixth happens in a child process first, so that a plugin that crashes is a message.
#pragma once

#include "gh/component.hpp"
#include "plugins/elf_note.hpp"
#include "recipe/recipe.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

enum class PluginErrorCode {
  not_found,             // 1 no such file
  unsafe_permissions,    // 2 file or a directory above it can be written by everybody
  unreadable,            // 3 cannot be opened or read
  not_elf,               // 4 a script, a text, an empty file
  truncated,             //   the file ends before its headers say
  wrong_architecture,    //   another machine or not a shared library
  no_note,               //   not built with gh_add_plugin()
  sdk_major,             // 5 other SDK major
  sdk_minor,             //   newer SDK minor than the host
  fingerprint,           //   LibTorch, compiler, standard library, … differ
  cpu_level,             //   needs a newer processor
  foreign_library,       //   brings a LibTorch or OpenMP of its own
  duplicate,             //   the same build twice
  load_failed,           // 6 dlopen said no (missing symbol, missing library)
  crashed,               //   died while loading: signal, exit()
  timed_out,             //   did not finish loading
  no_entry,              // 7 entry symbol missing
  entry_failed,          //   entry returned non-zero or threw
  null_manifest,
  bad_magic,
  bad_size,
  manifest_mismatch,     //   manifest and ELF note disagree
  bad_manifest,          // 8 missing strings, unknown kind, null create, …
  bad_schema,
  duplicate_id,          // 9 component id taken, within the plugin or by another
  create_failed,         // 10
  conformance,           //   `plugins check` found the component breaking its contract
};
std::string_view name_of(PluginErrorCode code);

struct PluginError {
  PluginErrorCode code;
  std::filesystem::path file;
  std::string message;  // names file, expected and found
};

struct ComponentInfo {
  gh_kind kind;
  std::string id;
  std::string doc;
  uint32_t flags = 0;
  uint32_t threads = 0;
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

// A plugin file that was found; nothing of it has run.
struct PluginFile {
  std::filesystem::path file;
  std::string origin;                   // "--plugin", "GHHOST_PLUGIN_PATH", "user", "bundled"
  std::optional<PluginNote> note;       // absent when `error` says why
  std::optional<PluginError> error;
  std::optional<std::filesystem::path> shadowed_by;
};

// Where plugins are looked for, in order. Absolute; never the working directory.
struct SearchPath {
  struct Place {
    std::filesystem::path path;  // a directory, or one file
    std::string origin;
  };
  std::vector<Place> places;
};
// --plugin arguments, GHHOST_PLUGIN_PATH (ignored when the program has raised rights), the user's directory
// ($XDG_DATA_HOME/ghhost/plugins), then ../lib/ghhost/plugins beside the program.
SearchPath default_search_path(const std::vector<std::string>& plugin_arguments);

// Owns a component made by a plugin; destroys it with the plugin's own function.
struct ComponentDeleter {
  void (*destroy)(void*) = nullptr;
  template <class Interface>
  void operator()(Interface* component) const { destroy(component); }
};
template <class Interface>
using ComponentPtr = std::unique_ptr<Interface, ComponentDeleter>;

class Registry : public Catalog {
 public:
  explicit Registry(SearchPath path);
  ~Registry() override;

  // Steps 1–5 for every file on the search path; runs no plugin code. Sorted by place, then name.
  const std::vector<PluginFile>& files() const;

  // All ten steps for one file; components become available all or none.
  std::optional<PluginError> load(const std::filesystem::path& file);
  const std::vector<LoadedPlugin>& loaded() const;

  // Catalog: loads, on first use, the first plugin on the path whose note provides kind/id.
  Found find(gh_kind kind, const std::string& id) override;

  // Every kind/id that some usable file provides.
  std::vector<std::string> provided(gh_kind kind) const;

  const ComponentInfo& info(gh_kind kind, const std::string& id) const;  // must be loaded

  // Makes a component. What create throws becomes a gh::Error that names component, code and message. `params` must outlive it.
  template <class Interface>
  ComponentPtr<Interface> create(const std::string& id, const Params& params) {
    const ComponentInfo& c = info(InterfaceOf<Interface>::kind, id);
    return ComponentPtr<Interface>(static_cast<Interface*>(create_raw(c, params)), ComponentDeleter{c.destroy});
  }

 private:
  void* create_raw(const ComponentInfo& component, const Params& params);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gh::host
