#include "plugins/registry.hpp"

#include "plugins/component_call.hpp"
#include "plugins/file_checks.hpp"
#include "plugins/fingerprint.hpp"
#include "plugins/library_image.hpp"
#include "plugins/lock_file.hpp"
#include "plugins/missing_component.hpp"
#include "plugins/plugin_loader.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Code = PluginErrorCode;

// Schemas and infos are handed out by address while the list of plugins grows.
static_assert(std::is_nothrow_move_constructible_v<LoadedPlugin>);

PluginRefused duplicate_of(const fs::path& first, const std::string& build_id) {
  return {Code::duplicate, "each build once",
          fmt::format("the same build as {}{}{}", first.string(),
                      build_id.empty() ? "" : ", build-id ", build_id)};
}

bool same_build(const PluginNote& a, const std::string& sha_a, const PluginNote& b,
                const std::string& sha_b) {
  return sha_a == sha_b || (!a.build_id.empty() && a.build_id == b.build_id);
}

// Why `later` cannot be used beside `earlier`: one name, or one component, would mean two things.
bool collide(const PluginNote& earlier, const PluginNote& later) {
  return earlier.name == later.name || std::ranges::any_of(later.provides, [&](const auto& p) {
           return std::ranges::find(earlier.provides, p) != earlier.provides.end();
         });
}

}  // namespace

struct Registry::Impl {
  SearchPath path;
  LoadOptions options;
  std::optional<std::vector<PluginFile>> files;
  std::vector<LoadedPlugin> loaded;
  std::vector<std::shared_ptr<void>> handles;
  std::map<std::string, PluginError> refused;  // by SHA-256: a plugin that hangs is waited for once

  void scan();
  PluginFile examine(const fs::path& file, const SearchPath::Place& place) const;
  void relate();
  void load(const fs::path& file);
  const ComponentInfo* component(std::string_view provided) const;
  OpenedPlugin open(const FileContent& content, const PluginNote& note);
};

PluginFile Registry::Impl::examine(const fs::path& file, const SearchPath::Place& place) const {
  PluginFile found{file, "", place.origin, place.argument() && file == place.path, {}, {}, {}};
  try {
    const FileContent content = read_checked(file);
    found.sha256 = content.sha256;
    found.note = read_plugin_note(content.bytes);
    check_note(*found.note);
  } catch (const PluginRefused& e) {
    found.error = e.in(file);
  }
  return found;
}

void Registry::Impl::scan() {
  if (files) return;
  files.emplace();
  for (const SearchPath::Place& place : path.places)
    for (const fs::path& file : plugin_files_in(place)) files->push_back(examine(file, place));
  relate();
}

// Which files are the same as usable ones before them, or stand in their shadow.
void Registry::Impl::relate() {
  for (auto found = files->begin(); found != files->end(); ++found) {
    found->shadowed_by.reset();
    if (found->error && found->error->code == Code::duplicate) found->error.reset();
    for (auto earlier = files->begin(); earlier != found && !found->error; ++earlier) {
      if (!earlier->usable()) continue;
      if (same_build(*earlier->note, earlier->sha256, *found->note, found->sha256))
        found->error = duplicate_of(earlier->file, found->note->build_id).in(found->file);
      if (!found->shadowed_by && collide(*earlier->note, *found->note))
        found->shadowed_by = earlier->file;
    }
  }
}

const ComponentInfo* Registry::Impl::component(std::string_view provided) const {
  for (const LoadedPlugin& plugin : loaded)
    for (const ComponentInfo& c : plugin.components)
      if (fmt::format("{}/{}", kind_name(c.kind), c.id) == provided) return &c;
  return nullptr;
}

OpenedPlugin Registry::Impl::open(const FileContent& content, const PluginNote& note) {
  if (const auto known = refused.find(content.sha256); known != refused.end())
    throw PluginRefused(known->second.code, known->second.message);
  try {
    library_image(content);  // one for child and parent
    if (options.probe) probe_plugin(content, note, options.probe_timeout);
    return open_plugin(content, note);
  } catch (const PluginRefused& e) {
    refused.emplace(content.sha256, PluginError{e.code(), content.file, e.what()});
    throw;
  }
}

void Registry::Impl::load(const fs::path& file) {
  const FileContent content = read_checked(file);
  for (const LoadedPlugin& plugin : loaded) {
    if (plugin.file != content.file) continue;
    if (plugin.sha256 == content.sha256) return;
    throw PluginRefused(Code::file_changed,
                        fmt::format("the file that is loaded (sha256 {})", plugin.sha256),
                        fmt::format("another one (sha256 {})", content.sha256),
                        "Start the program again to use it.");
  }
  const PluginNote note = read_plugin_note(content.bytes);
  check_note(note);
  if (options.lock) options.lock->require(note, content.sha256);
  for (const LoadedPlugin& plugin : loaded) {
    if (same_build(plugin.note, plugin.sha256, note, content.sha256))
      throw duplicate_of(plugin.file, note.build_id);
    for (const std::string& provided : note.provides)
      if (std::ranges::find(plugin.note.provides, provided) != plugin.note.provides.end())
        throw PluginRefused(Code::duplicate_id, fmt::format("{} from one plugin", provided),
                            fmt::format("it loaded already from {}", plugin.file.string()));
  }
  // The manifest provides what the note does (manifest_mismatch otherwise), so what follows cannot
  // fail half-way.
  OpenedPlugin opened = open(content, note);
  handles.push_back(std::move(opened.handle));
  loaded.push_back(std::move(opened.plugin));
}

Registry::Registry(SearchPath path, LoadOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(path);
  impl_->options = std::move(options);
}
Registry::~Registry() = default;

const SearchPath& Registry::search_path() const { return impl_->path; }

const std::vector<PluginFile>& Registry::files() const {
  impl_->scan();
  return *impl_->files;
}

const std::vector<LoadedPlugin>& Registry::loaded() const { return impl_->loaded; }

std::optional<PluginError> Registry::load(const fs::path& file) {
  try {
    impl_->load(file);
    return std::nullopt;
  } catch (const PluginRefused& e) {
    return e.in(file);
  }
}

std::string Registry::refused_by_name() const {
  std::string text;
  for (const PluginFile& file : files()) {
    // The same build given twice is used all the same.
    const bool again = file.error && file.error->code == Code::duplicate;
    if (!file.named || file.usable() || again) continue;
    if (!text.empty()) text += '\n';
    text += fmt::format("--plugin {} cannot be used: ", file.file.string());
    text += file.error ? fmt::format("{}: {}", name_of(file.error->code), file.error->message)
                       : fmt::format(
                             "{}, given before it, has the same name or one of its "
                             "components",
                             file.shadowed_by->string());
  }
  return text;
}

Catalog::Found Registry::find(gh_kind kind, const std::string& id) {
  const std::string wanted = fmt::format("{}/{}", kind_name(kind), id);
  const auto answer = [](const ComponentInfo& c) { return Found{&c.schema, c.validate, {}}; };
  if (const ComponentInfo* c = impl_->component(wanted)) return answer(*c);
  if (std::string problem = refused_by_name(); !problem.empty())
    return {nullptr, nullptr, std::move(problem)};
  impl_->scan();
  for (PluginFile& file : *impl_->files) {
    if (!file.note || file.shadowed_by ||
        std::ranges::find(file.note->provides, wanted) == file.note->provides.end())
      continue;
    if (file.error && file.origin != SearchPath::kArgument) continue;
    const std::optional<PluginError> error = file.error ? file.error : load(file.file);
    if (!error) return answer(*impl_->component(wanted));
    std::string problem = fmt::format("the plugin that provides {} cannot be used ({}): {}", wanted,
                                      name_of(error->code), error->message);
    // Not the next one instead, unless that was asked for: a run must not silently use another
    // plugin than it was given.
    if (file.named || !impl_->options.pass_over) return {nullptr, nullptr, std::move(problem)};
    impl_->options.pass_over(problem);
    file.error = error;
    impl_->relate();  // it shadows no others any more
  }
  return {nullptr, nullptr, describe_missing(kind, id, provided(kind), files(), impl_->path)};
}

std::vector<std::string> Registry::provided(gh_kind kind) const {
  const std::string prefix = fmt::format("{}/", kind_name(kind));
  std::set<std::string> ids;
  const auto take = [&](const PluginNote& note) {
    for (const std::string& p : note.provides)
      if (p.starts_with(prefix)) ids.insert(p.substr(prefix.size()));
  };
  for (const PluginFile& file : files())
    if (file.usable()) take(*file.note);
  for (const LoadedPlugin& plugin : loaded()) take(plugin.note);
  return {ids.begin(), ids.end()};
}

const ComponentInfo& Registry::info(gh_kind kind, const std::string& id) const {
  const std::string wanted = fmt::format("{}/{}", kind_name(kind), id);
  const ComponentInfo* c = impl_->component(wanted);
  require(c != nullptr, ErrorCode::internal, wanted, " was asked for before it was loaded");
  return *c;
}

void* Registry::create_raw(const ComponentInfo& component, const Params& params) {
  const std::string name = fmt::format("{}/{}", kind_name(component.kind), component.id);
  return call_component(name, "create", [&] {
    void* made = component.create(&params);
    require(made != nullptr, ErrorCode::internal, "expected a component, found null");
    return made;
  });
}

nlohmann::ordered_json describe_plugins(const std::vector<LoadedPlugin>& plugins) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const LoadedPlugin& plugin : plugins)
    out.push_back({{"name", plugin.note.name},
                   {"version", plugin.note.version},
                   {"file", plugin.file.string()},
                   {"sha256", plugin.sha256},
                   {"provides", plugin.note.provides}});
  return out;
}

}  // namespace gh::host
