#include "plugins/inspect.hpp"

#include "plugins/child_process.hpp"
#include "plugins/conformance.hpp"
#include "plugins/inspect_text.hpp"
#include "recipe/recipe.hpp"
#include "text/json.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Code = PluginErrorCode;

bool is_file_name(const std::string& what) {
  // "ssl/simclr" has a slash too; a kind before it makes it a component.
  gh_kind kind;
  const std::size_t slash = what.find('/');
  if (slash != std::string::npos && kind_from_name(std::string_view(what).substr(0, slash), kind))
    return false;
  return slash != std::string::npos || what.ends_with(".so");
}

bool answers_to(const PluginNote& note, const std::string& what) {
  return note.name == what || std::ranges::any_of(note.provides, [&](const std::string& p) {
           return p == what || p.substr(p.find('/') + 1) == what;
         });
}

// The one file that is meant. Throws PluginRefused, or the reason why a file that answers to the
// name is not used.
fs::path resolve(const Registry& registry, const std::string& what) {
  if (is_file_name(what)) return fs::absolute(what);
  std::vector<const PluginFile*> usable, refused;
  std::vector<std::string> names;
  for (const PluginFile& file : registry.files()) {
    if (!file.note) continue;
    names.insert(names.end(), file.note->provides.begin(), file.note->provides.end());
    if (answers_to(*file.note, what)) (file.usable() ? usable : refused).push_back(&file);
  }
  if (usable.size() == 1 || (usable.empty() && refused.size() == 1))
    return (usable.empty() ? refused : usable).front()->file;
  std::vector<std::string> candidates;
  for (const PluginFile* file : usable.empty() ? refused : usable)
    candidates.push_back(file->file.string());
  if (!candidates.empty())
    throw PluginRefused(Code::not_found, fmt::format("one plugin that \"{}\" means", what),
                        fmt::format("{}", fmt::join(candidates, ", ")),
                        "Give kind/id or the file.");
  const std::string close = nearest(what, names);
  throw PluginRefused(Code::not_found, "a plugin file, kind/id, id or plugin name",
                      names.empty() ? std::string("no plugin on the search path")
                                    : fmt::format("none of {}", fmt::join(names, ", ")),
                      close.empty() ? "" : fmt::format("Did you mean {}?", close));
}

Json error_as_json(const PluginError& error) {
  return {{"code", name_of(error.code)},
          {"number", static_cast<int>(error.code)},
          {"file", error.file.string()},
          {"message", error.message}};
}

// The recipe, of which some component of the plugin must be part.
Recipe recipe_for(const LoadedPlugin& plugin, const std::string& file, Registry& registry) {
  Diagnostics diagnostics;
  Recipe recipe = load_recipe(file, {}, registry, diagnostics);
  require(!diagnostics.has_errors(), ErrorCode::invalid_param, diagnostics.text());
  const bool named = std::ranges::any_of(recipe.slots, [&](const Slot& slot) {
    return std::ranges::any_of(plugin.components, [&](const ComponentInfo& c) {
      return c.kind == slot.kind && c.id == slot.id;
    });
  });
  require(named, ErrorCode::invalid_param, file, " names no component of ", plugin.note.name);
  return recipe;
}

// In the child: everything the report needs, as JSON.
Json inspect(SearchPath path, const fs::path& file, const InspectOptions& options,
             const std::set<std::string>& without, const SayDoing& doing) {
  // Worker threads of the parent's OpenMP do not exist here, and waiting for them would be for
  // ever.
  at::set_num_threads(1);
  path.places.insert(path.places.begin(), {file, "--plugin"});  // for the recipe
  Registry registry(path, options.load);
  doing("loading");
  Json report = {{"error", nullptr},
                 {"violations", Json::array()},
                 {"tried", Json::array()},
                 {"remarks", Json::array()}};
  if (const auto error = registry.load(file)) {
    report["error"] = error_as_json(*error);
    return report;
  }
  const LoadedPlugin plugin = registry.loaded().front();
  report["plugin"] = plugin_as_json(plugin);
  report["text"] = plugin_as_text(plugin);
  if (options.depth == InspectDepth::info) return report;
  std::optional<Recipe> recipe;
  if (!options.recipe.empty()) try {
      recipe = recipe_for(plugin, options.recipe, registry);
    } catch (const Error& error) {
      report["error"] =
          error_as_json(PluginRefused(Code::conformance, "a recipe to try components with",
                                      fmt::format("none: {}", error.what()), "")
                            .in(file));
      return report;
    }
  std::vector<std::string> remarks, tried;
  report["violations"] = check_conformance(registry, plugin,
                                           {.remarks = &remarks,
                                            .tried = &tried,
                                            .recipe = recipe ? &*recipe : nullptr,
                                            .doing = [&](std::string_view part) { doing(part); },
                                            .without = without});
  report["tried"] = tried;
  report["remarks"] = remarks;
  return report;
}

void take(const Json& child, PluginReport& report) {
  if (const Json& error = child["error"]; !error.is_null())
    report.error = PluginError{static_cast<Code>(error["number"].get<int>()), report.file,
                               error["message"].get<std::string>()};
  report.violations = child["violations"].get<std::vector<std::string>>();
  report.tried = child["tried"].get<std::vector<std::string>>();
  report.remarks = child["remarks"].get<std::vector<std::string>>();
  report.text = child.value("text", "");
  if (report.violations.empty()) return;
  report.error = PluginRefused(Code::conformance, "components that keep their contracts",
                               fmt::format("{} violation{}", report.violations.size(),
                                           report.violations.size() == 1 ? "" : "s"),
                               "")
                     .in(report.file);
}

// Components that ended their process while they were tried; the others are tried without them.
struct Deaths {
  std::set<std::string> of;
  std::vector<std::string> lines;
  std::optional<PluginRefused> first;

  // False where it was none of a component, or took too long.
  bool take(ChildOutcome outcome, const InspectOptions& options) {
    const std::string doing = std::exchange(outcome.doing, {});
    const std::string component = doing.substr(0, doing.find_first_of(": "));
    if (options.depth != InspectDepth::check || outcome.timed_out ||
        component.find('/') == component.npos || !of.insert(component).second)
      return false;
    lines.push_back(fmt::format("{}: expected the process to live on, found that it ended with {}",
                                doing, outcome.how_it_ended()));
    outcome.doing = doing;
    if (!first) first = outcome.refusal("being checked", options.timeout);
    return true;
  }
  void add_to(PluginReport& report) const {
    report.violations.insert(report.violations.end(), lines.begin(), lines.end());
    if (first) report.error = first->in(report.file);
  }
};

// The JSON and the closing lines of the text, which say how it went.
void finish(Json plugin, InspectDepth depth, PluginReport& report) {
  if (report.error)
    report.text += fmt::format("{}{}: {}\n", report.text.empty() ? "" : "\n",
                               name_of(report.error->code), report.error->message);
  else if (depth == InspectDepth::check)
    report.text += "\nkeeps its contracts\n";
  for (const std::string& violation : report.violations)
    report.text += fmt::format("  {}\n", violation);
  for (const std::string& tried : report.tried) report.text += fmt::format("  tried: {}\n", tried);
  for (const std::string& remark : report.remarks)
    report.text += fmt::format("  note: {}\n", remark);
  Json j = {{"ok", report.ok()}, {"plugin", std::move(plugin)}};
  j["error"] = report.error ? error_as_json(*report.error) : Json(nullptr);
  j["violations"] = report.violations;
  j["tried"] = report.tried;
  j["remarks"] = report.remarks;
  report.json = json_text(j, 2);
}

}  // namespace

PluginReport inspect_in_child(const SearchPath& path, const std::string& what,
                              InspectOptions options) {
  PluginReport report;
  Json plugin = nullptr;
  options.load.probe = false;  // the child is one already
  try {
    report.file = resolve(Registry(path), what);
    Deaths deaths;
    std::optional<std::string> result;
    while (!result) {
      const ChildOutcome outcome = run_in_child(
          [&](const SayDoing& doing) {
            return json_text(inspect(path, report.file, options, deaths.of, doing));
          },
          options.timeout);
      result = outcome.result;
      if (!result && !deaths.take(outcome, options))
        throw outcome.refusal(
            options.depth == InspectDepth::info ? "being loaded" : "being checked",
            options.timeout);
    }
    const Json child = parse_json<Json>(*result);
    take(child, report);
    plugin = child.value("plugin", Json(nullptr));
    deaths.add_to(report);
  } catch (const PluginRefused& e) {
    report.error = e.in(report.file.empty() ? fs::path(what) : report.file);
  }
  finish(std::move(plugin), options.depth, report);
  return report;
}

PluginReport describe_in_child(const SearchPath& path, LoadOptions options,
                               std::chrono::milliseconds timeout) {
  PluginReport report;
  options.probe = false;  // the child is one already
  // Either a list of plugins, or why one of them is refused.
  const auto describe = [&](const SayDoing& doing) {
    at::set_num_threads(1);
    Registry registry(path, options);
    for (const PluginFile& file : registry.files()) {
      if (!file.usable()) continue;
      doing("loading " + file.file.string());
      if (const auto error = registry.load(file.file)) return json_text(error_as_json(*error));
    }
    Json list = Json::array();
    for (const LoadedPlugin& plugin : registry.loaded()) list.push_back(plugin_as_json(plugin));
    return json_text(list);
  };
  const ChildOutcome outcome = run_in_child(describe, timeout);
  if (!outcome.result) {
    report.error = outcome.refusal("being loaded", timeout).in(outcome.doing);
    return report;
  }
  report.json = *outcome.result;
  if (const Json said = parse_json<Json>(report.json); said.is_object())
    report.error = PluginError{static_cast<Code>(said["number"].get<int>()), "",
                               said["message"].get<std::string>()};
  return report;
}

}  // namespace gh::host
