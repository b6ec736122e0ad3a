// Steps 6 to 8: the library, its entry, its manifest. Throws PluginRefused.
#pragma once

#include "plugins/file_checks.hpp"
#include "plugins/registry.hpp"

#include <chrono>
#include <memory>

namespace gh::host {

struct OpenedPlugin {
  LoadedPlugin plugin;
  // The library. Nothing is ever unloaded: autograd graphs, dispatcher entries and thread-local
  // destructors point into it.
  std::shared_ptr<void> handle;
};

// load_failed, no_entry, entry_failed, null_manifest and what copy_manifest() throws.
// Runs plugin code.
OpenedPlugin open_plugin(const FileContent& content, const PluginNote& note);

// The same in a child process, whose death is `crashed` or `timed_out`; the parent runs nothing of
// the plugin.
void probe_plugin(const FileContent& content, const PluginNote& note,
                  std::chrono::milliseconds timeout);

// Checks a manifest against the note and copies all of it. bad_magic, bad_size, manifest_mismatch,
// bad_manifest, bad_schema, duplicate_id.
void copy_manifest(const gh_manifest_v1* manifest, const PluginNote& note, LoadedPlugin& out);

}  // namespace gh::host
