#include "plugins/lock_file.hpp"

#include "plugins/checked_json.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

[[noreturn]] void refuse(const fs::path& file, std::string_view why) {
  fail(ErrorCode::invalid_param, printable(file.string()), " is no lock of plugins: ", why,
       "; `ghhost plugins lock` writes one");
}

// What a lock of this format has and nothing else: a key that is not understood may be a condition
// that would not be kept.
void require_keys(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(known, key) == known.end())
      throw std::invalid_argument(fmt::format("unknown key \"{}\"", printable(key)));
}

LockedPlugin plugin_in(const Json& entry) {
  require_keys(entry, {"name", "version", "sha256", "build_id", "fingerprint"});
  return {name_in(entry), text_in(entry, "version"), sha256_in(entry), text_in(entry, "build_id"),
          fingerprint_in(entry)};
}

std::vector<LockedPlugin> plugins_in(const Json& json) {
  require_format(json, "ghhost_lock", kFormat);
  require_keys(json, {"ghhost_lock", "plugins"});
  std::vector<LockedPlugin> out;
  for (const Json& entry : list_in(json, "plugins")) {
    LockedPlugin plugin = plugin_in(entry);
    if (std::ranges::find(out, plugin.name, &LockedPlugin::name) != out.end())
      throw std::invalid_argument(fmt::format("{} is locked twice", plugin.name));
    out.push_back(std::move(plugin));
  }
  return out;
}

}  // namespace

PluginLock::PluginLock(std::string_view text, fs::path file) : file_(std::move(file)) {
  try {
    plugins_ = plugins_in(parse_json<Json>(text));
  } catch (const std::invalid_argument& e) {
    refuse(file_, e.what());
  } catch (const Json::exception& e) {
    refuse(file_, printable(e.what()));
  }
}

void PluginLock::require(const PluginNote& note, const std::string& sha256) const {
  const auto known = std::ranges::find(plugins_, sha256, &LockedPlugin::sha256);
  if (known != plugins_.end()) return;
  const auto other = std::ranges::find(plugins_, note.name, &LockedPlugin::name);
  const std::string expected =
      other == plugins_.end() ? fmt::format("a plugin that {} locks", file_.string())
                              : fmt::format("{} {} with SHA-256 {}, as {} locks it", other->name,
                                            other->version, other->sha256, file_.string());
  throw PluginRefused(PluginErrorCode::not_locked, expected,
                      fmt::format("{} {} with SHA-256 {}", note.name, note.version, sha256),
                      "`ghhost plugins lock` locks what is there now, if that is what you mean.");
}

PluginLock read_lock(const fs::path& file) {
  std::error_code error;
  gh::require(fs::exists(file, error), ErrorCode::missing_data, "there is no lock of plugins ",
              file.string(), "; `ghhost plugins lock` writes one");
  return {read_regular_file(file), file};
}

std::string lock_text(const std::vector<PluginFile>& files) {
  Json list = Json::array();
  for (const PluginFile& file : files)
    if (file.usable())
      list.push_back({{"name", file.note->name},
                      {"version", file.note->version},
                      {"sha256", file.sha256},
                      {"build_id", file.note->build_id},
                      {"fingerprint", file.note->fingerprint}});
  std::sort(list.begin(), list.end(),
            [](const Json& a, const Json& b) { return a["name"] < b["name"]; });
  return json_text(Json{{"ghhost_lock", kFormat}, {"plugins", std::move(list)}}, 2) + "\n";
}

}  // namespace gh::host
