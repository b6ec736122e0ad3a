// `plugins info` and `plugins check`: a plugin loaded, described and tried in a child process, so
// that it cannot harm this one.
#pragma once

#include "plugins/registry.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

enum class InspectDepth {
  info,  // load, describe
  check  // and try each component (check_conformance)
};

struct PluginReport {
  std::filesystem::path file;  // what was inspected; empty when nothing was found
  // Not found, refused, crashed, timed out; `conformance` when there are violations.
  std::optional<PluginError> error;
  std::vector<std::string> violations;  // InspectDepth::check
  std::vector<std::string> tried;       // what was, a line for each component
  std::vector<std::string> remarks;     // what could not be tried and why
  std::string text;  // for people: facts, parameters and a paste-ready TOML block per component
  std::string json;  // the same as one JSON object

  bool ok() const { return !error; }
};

struct InspectOptions {
  InspectDepth depth = InspectDepth::check;
  // Recipe file whose parameters its components are tried with; "": with their defaults.
  std::string recipe = {};
  LoadOptions load = {};
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

// `what` is a file, "kind/id", an id, or the name of a plugin on the search path; the file is found
// from notes alone. Components of other plugins are not loaded. Call before this process has used
// LibTorch on several threads: the child is a fork.
PluginReport inspect_in_child(const SearchPath& path, const std::string& what,
                              InspectOptions options);

// Every usable plugin on the path, described in one child: `json` is the list of what `plugins info
// --json` calls "plugin".
PluginReport describe_in_child(const SearchPath& path, LoadOptions options = {},
                               std::chrono::milliseconds timeout = std::chrono::minutes(5));

// A TOML block with every parameter, its default (or a comment where it is required or optional),
// range and meaning. `id` may be empty.
std::string schema_as_toml(const Schema& schema, const std::string& id);

}  // namespace gh::host
