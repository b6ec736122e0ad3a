#include "plugins/search_path.hpp"

#include "gh/error.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

// The environment belongs to whoever started the program; with raised rights that may be somebody
// else.
std::optional<std::string> environment(const char* name) {
  if (getauxval(AT_SECURE) != 0) return std::nullopt;
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

void add(SearchPath& path, const fs::path& place, std::string_view origin) {
  if (!place.is_absolute()) {
    path.ignored.push_back(std::string(origin) + ": \"" + place.string() + "\" is not absolute");
    return;
  }
  const auto target = [](const fs::path& p) {
    std::error_code error;
    const fs::path clean = fs::weakly_canonical(p, error);
    return error ? p.lexically_normal() : clean;
  };
  // Two names of one directory would make each of its plugins a duplicate of itself. Links are kept
  // as they were given: whether they can be trusted is looked at when a file is read.
  const fs::path clean = target(place);
  if (std::ranges::any_of(path.places, [&](const auto& p) { return target(p.path) == clean; }))
    return;
  path.places.push_back({place.has_filename() ? place : place.parent_path(), std::string(origin)});
}

void add_list(SearchPath& path, std::string_view list, std::string_view origin) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t colon = std::min(list.find(':', at), list.size());
    if (colon > at) add(path, fs::path(list.substr(at, colon - at)), origin);
    at = colon + 1;
  }
}

}  // namespace

fs::path user_file(const char* variable, const fs::path& fallback, const fs::path& name) {
  // The XDG specification: a relative value is to be ignored.
  if (const auto base = environment(variable); base && fs::path(*base).is_absolute())
    return fs::path(*base) / "ghhost" / name;
  if (const auto home = environment("HOME")) return fs::path(*home) / fallback / "ghhost" / name;
  return {};
}

fs::path user_plugins() { return user_file("XDG_DATA_HOME", ".local/share", "plugins"); }

SearchPath default_search_path(const std::vector<std::string>& plugin_arguments) {
  SearchPath path;
  for (const std::string& argument : plugin_arguments) {
    require(!argument.empty(), ErrorCode::invalid_param,
            "--plugin \"\": expected a plugin file or a directory");
    add(path, fs::absolute(argument), SearchPath::kArgument);
  }
  if (const auto list = environment("GHHOST_PLUGIN_PATH"))
    add_list(path, *list, "GHHOST_PLUGIN_PATH");
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = program.parent_path().parent_path();
  // The ghhost package of a Python environment: what its other packages bring comes before what the
  // user has for all environments.
  if (!error && fs::exists(prefix / "__main__.py"))
    add(path, prefix.parent_path() / "ghhost_plugins", "packages");
  if (const fs::path user = user_plugins(); !user.empty()) add(path, user, "user");
  if (program.empty()) return path;
  add(path, prefix / "lib" / "ghhost" / "plugins", SearchPath::kBundled);
  // Where distributions install libraries to lib64 or lib/<triplet>.
  const fs::path installed = prefix / GH_INSTALL_LIBDIR / "ghhost" / "plugins";
  if (fs::is_directory(installed, error)) add(path, installed, SearchPath::kBundled);
  return path;
}

std::vector<fs::path> plugin_files_in(const SearchPath::Place& place) {
  std::error_code error;
  if (!fs::is_directory(place.path, error)) {
    // What was named outright must be answered for, even when it is not there.
    const bool named = place.argument() || place.path.extension() == ".so";
    return named || fs::exists(place.path, error) ? std::vector{place.path}
                                                  : std::vector<fs::path>{};
  }
  if (place.path.extension() == ".so") return {place.path};
  std::vector<fs::path> files;
  for (fs::directory_iterator it(place.path, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".so") files.push_back(it->path());
  if (error && place.argument()) return {place.path};
  std::ranges::sort(files);
  return files;
}

}  // namespace gh::host
