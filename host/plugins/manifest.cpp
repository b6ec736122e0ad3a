// Step 8. The manifest lies in the plugin's memory and may come from an older SDK minor, so it is
// read by the sizes it carries and copied; afterwards nothing of the host points into it but
// functions.
#include "plugins/plugin_error.hpp"
#include "plugins/plugin_loader.hpp"
#include "recipe/recipe.hpp"
#include "text/plain_text.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace gh::host {
namespace {

using Code = PluginErrorCode;

// Sizes of SDK 1.0, the smallest there are.
constexpr std::size_t kManifestSize0 = 96;
constexpr std::size_t kComponentSize0 = 72;
constexpr std::size_t kParamSize0 = 96;
constexpr std::size_t kMaxText = 64 * 1024;
constexpr uint32_t kMaxComponents = 1024;
constexpr uint32_t kMaxParams = 4096;

std::string text_of(const char* text, std::string_view what) {
  if (text == nullptr)
    throw PluginRefused(Code::bad_manifest, fmt::format("a text for {}", what), "null");
  const std::string copy(text, ::strnlen(text, kMaxText + 1));
  if (copy.size() > kMaxText)
    throw PluginRefused(Code::bad_manifest, fmt::format("at most {} bytes for {}", kMaxText, what),
                        "more");
  if (!is_plain_text(copy))
    throw PluginRefused(Code::bad_manifest, fmt::format("UTF-8 text for {}", what), "other bytes");
  return copy;
}

std::string optional_text_of(const char* text, std::string_view what) {
  return text == nullptr ? std::string() : text_of(text, what);
}

void check_size(std::string_view what, std::size_t found, std::size_t smallest,
                std::size_t largest) {
  if (found >= smallest && found <= largest && found % alignof(void*) == 0) return;
  throw PluginRefused(Code::bad_size,
                      smallest == largest
                          ? fmt::format("{} of {} bytes", what, smallest)
                          : fmt::format("{} of {} to {} bytes", what, smallest, largest),
                      fmt::format("{}", found));
}

// What the plugin knows of a struct; the rest is zero.
template <class T>
T read_prefix(const void* from, std::size_t size) {
  T value{};
  std::memcpy(&value, from, std::min(size, sizeof(T)));
  return value;
}

gh_manifest_v1 read_manifest(const gh_manifest_v1* manifest) {
  if (manifest->magic != GH_MANIFEST_MAGIC)
    throw PluginRefused(Code::bad_magic,
                        fmt::format("a manifest with magic {:#x}", GH_MANIFEST_MAGIC),
                        fmt::format("{:#x}", manifest->magic));
  // A minor no newer than ours knows no more than we do.
  check_size("a manifest", manifest->size, kManifestSize0, sizeof(gh_manifest_v1));
  const auto m = read_prefix<gh_manifest_v1>(manifest, manifest->size);
  check_size("components", m.component_size, kComponentSize0, sizeof(gh_component_v1));
  check_size("parameters", m.param_size, kParamSize0, sizeof(gh_param_v1));
  return m;
}

void expect_same(std::string_view what, const std::string& note, const std::string& manifest) {
  if (note == manifest) return;
  throw PluginRefused(Code::manifest_mismatch,
                      fmt::format("{} \"{}\" as in the ELF note", what, note),
                      fmt::format("\"{}\" in the manifest", manifest));
}

// Names the first line that differs instead of printing both texts.
void expect_same_lines(std::string_view note, std::string_view manifest) {
  while (!note.empty() || !manifest.empty()) {
    const std::string_view ours = note.substr(0, note.find('\n'));
    const std::string_view theirs = manifest.substr(0, manifest.find('\n'));
    expect_same("the fingerprint line", std::string(ours), std::string(theirs));
    note.remove_prefix(std::min(ours.size() + 1, note.size()));
    manifest.remove_prefix(std::min(theirs.size() + 1, manifest.size()));
  }
}

std::string_view interface_of_kind(gh_kind kind) {
  switch (kind) {
    case GH_KIND_SSL:
      return InterfaceOf<SslMethod>::id;
    case GH_KIND_STRUCTURE:
      return InterfaceOf<Structure>::id;
    case GH_KIND_ALLOCATOR:
      return InterfaceOf<Allocator>::id;
    case GH_KIND_DATASET:
      return InterfaceOf<Dataset>::id;
    case GH_KIND_BACKBONE:
      return InterfaceOf<Backbone>::id;
    case GH_KIND_EVALUATOR:
      return InterfaceOf<Evaluator>::id;
  }
  return {};
}

Schema copy_schema(const gh_component_v1& c, std::size_t stride, const std::string& name) {
  const std::string expected = fmt::format("well-formed parameters of {}", name);
  if (c.param_count > kMaxParams || (c.param_count > 0 && c.params == nullptr))
    throw PluginRefused(Code::bad_schema, expected,
                        fmt::format("{} of them at {}", c.param_count, fmt::ptr(c.params)));
  try {
    return read_schema(c.params, c.param_count, stride);
  } catch (const std::exception& e) {
    throw PluginRefused(Code::bad_schema, expected, e.what());
  }
}

ComponentInfo copy_component(const gh_component_v1& c, std::size_t param_size, std::size_t index) {
  const std::string where = fmt::format("component {}", index);
  const std::string_view interface_id = interface_of_kind(static_cast<gh_kind>(c.kind));
  if (interface_id.empty())
    throw PluginRefused(Code::bad_manifest, fmt::format("{} of a kind from 1 to 6", where),
                        fmt::format("{}", c.kind));
  ComponentInfo info;
  info.kind = static_cast<gh_kind>(c.kind);
  info.id = text_of(c.id, where + ": id");
  if (!is_component_id(info.id))
    throw PluginRefused(Code::bad_manifest, "an id like [a-z][a-z0-9_.-]*",
                        fmt::format("\"{}\"", info.id));
  const std::string name = fmt::format("{}/{}", kind_name(info.kind), info.id);
  info.doc = text_of(c.doc, name + ": doc");
  const std::string theirs = text_of(c.interface_id, name + ": interface");
  if (theirs != interface_id)
    throw PluginRefused(Code::bad_manifest, fmt::format("{} with interface {}", name, interface_id),
                        theirs);
  if (c.create == nullptr || c.destroy == nullptr)
    throw PluginRefused(Code::bad_manifest, fmt::format("{} with create and destroy", name),
                        c.create == nullptr ? "no create" : "no destroy");
  if (c.threads > GH_THREADS_ANY)
    throw PluginRefused(Code::bad_manifest, fmt::format("{} with a known thread rule", name),
                        fmt::format("{}", c.threads));
  info.paper = optional_text_of(c.paper, name + ": paper");
  info.views = optional_text_of(c.views, name + ": views");
  info.state = optional_text_of(c.state, name + ": state");
  info.ranks = optional_text_of(c.ranks, name + ": ranks");
  info.flags = c.flags;
  info.threads = c.threads;
  info.create = c.create;
  info.destroy = c.destroy;
  info.validate = c.validate;
  info.schema = copy_schema(c, param_size, name);
  return info;
}

std::string joined(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void copy_manifest(const gh_manifest_v1* manifest, const PluginNote& note, LoadedPlugin& out) {
  const gh_manifest_v1 m = read_manifest(manifest);
  const auto sdk = note.fingerprint.find("sdk");
  expect_same("sdk", sdk == note.fingerprint.end() ? "" : sdk->second,
              fmt::format("{}.{}", m.sdk_major, m.sdk_minor));
  expect_same("name", note.name, text_of(m.name, "name"));
  expect_same("version", note.version, text_of(m.version, "version"));
  expect_same_lines(note.text, text_of(m.fingerprint, "fingerprint"));
  out.license = text_of(m.license, "license");
  out.authors = text_of(m.authors, "authors");
  out.url = text_of(m.url, "url");
  out.doc = text_of(m.doc, "doc");
  if (m.component_count == 0 || m.component_count > kMaxComponents || m.components == nullptr)
    throw PluginRefused(Code::bad_manifest, fmt::format("1 to {} components", kMaxComponents),
                        fmt::format("{} at {}", m.component_count, fmt::ptr(m.components)));

  std::set<std::string> provided;
  for (uint32_t i = 0; i < m.component_count; ++i) {
    const auto* at =
        reinterpret_cast<const std::byte*>(m.components) + std::size_t{i} * m.component_size;
    ComponentInfo info =
        copy_component(read_prefix<gh_component_v1>(at, m.component_size), m.param_size, i);
    info.sdk_minor = m.sdk_minor;
    const std::string name = fmt::format("{}/{}", kind_name(info.kind), info.id);
    if (!provided.insert(name).second)
      throw PluginRefused(Code::duplicate_id, "each component once", fmt::format("{} twice", name));
    out.components.push_back(std::move(info));
  }
  expect_same("components", joined({note.provides.begin(), note.provides.end()}), joined(provided));
}

}  // namespace gh::host
