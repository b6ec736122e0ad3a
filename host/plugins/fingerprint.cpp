#include "plugins/fingerprint.hpp"

#include "plugins/plugin_error.hpp"

#include "gh/version.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

namespace gh::host {
namespace {

using Code = PluginErrorCode;

struct HardKey {
  const char* key;
  const char* hint;
};
// Everything that decides the layout of objects or the symbols behind inline functions.
constexpr std::array kHardKeys = {
    HardKey{"torch", "build against the host's LibTorch version: -DGH_TORCH_DIR=…"},
    HardKey{"device",
            "build against the host's LibTorch (cpu or the same CUDA major): -DGH_TORCH_DIR=…"},
    HardKey{"arch", "build on or for the host's architecture"},
    HardKey{"compiler", "use the host's compiler family: -DCMAKE_CXX_COMPILER=…"},
    HardKey{"cxx_abi", "use a compiler with the host's C++ ABI version (-fabi-version)"},
    HardKey{"stdlib", "use the host's standard library (-stdlib=…)"},
    HardKey{"string_abi", "set -D_GLIBCXX_USE_CXX11_ABI as the host has it"},
    HardKey{"stdlib_debug", "set or drop -D_GLIBCXX_DEBUG as the host has it"},
    HardKey{"sanitizer", "build both with the same sanitizer, or both without"},
};

std::string value_of(const Fingerprint& f, const std::string& key) {
  const auto found = f.find(key);
  return found == f.end() ? "(absent)" : found->second;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct SdkVersion {
  int major = 0;
  int minor = 0;
};

SdkVersion sdk_of(const Fingerprint& f) {
  const std::string text = value_of(f, "sdk");
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto major = number(std::string_view(text).substr(0, dot));
  const auto minor = number(std::string_view(text).substr(std::min(dot + 1, text.size())));
  if (!major || !minor)
    throw PluginRefused(Code::bad_note, "an ELF note with sdk=MAJOR.MINOR",
                        fmt::format("\"{}\"", text));
  return {*major, *minor};
}

void check_sdk(const Fingerprint& host, const Fingerprint& plugin) {
  const SdkVersion ours = sdk_of(host);
  const SdkVersion theirs = sdk_of(plugin);
  if (theirs.major != ours.major)
    throw PluginRefused(Code::sdk_major, fmt::format("a plugin for SDK major {}", ours.major),
                        fmt::format("SDK {}.{}", theirs.major, theirs.minor),
                        fmt::format("Rebuild it with ghsdk {}.", ours.major));
  if (theirs.minor > ours.minor)
    throw PluginRefused(Code::sdk_minor,
                        fmt::format("a plugin for SDK {}.{} or older", ours.major, ours.minor),
                        fmt::format("SDK {}.{}", theirs.major, theirs.minor),
                        "Update ghhost, or rebuild the plugin with this host's ghsdk.");
}

// Width on the terminal; values are ASCII except for what a stranger wrote.
std::string table(const std::vector<std::array<std::string, 3>>& rows) {
  std::array<std::size_t, 2> width{};
  for (const auto& row : rows)
    for (int i = 0; i < 2; ++i) width[i] = std::max(width[i], row[i].size());
  std::string text;
  for (const auto& row : rows)
    text += fmt::format("{}  {:<{}}  {:<{}}  {}", text.empty() ? "" : "\n  ", row[0], width[0],
                        row[1], width[1], row[2]);
  return text;
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](auto p) { return name.starts_with(p); });
}
bool is_torch(std::string_view name) { return starts_with_any(name, {"libtorch", "libc10"}); }
bool is_openmp(std::string_view name) {
  return starts_with_any(name, {"libgomp", "libomp", "libiomp"});
}

}  // namespace

Fingerprint host_fingerprint() { return parse_note_lines(sdk_fingerprint()); }

int host_cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
#else
  return 1;
#endif
}

void check_fingerprint(const Fingerprint& host, int cpu_level, const Fingerprint& plugin) {
  check_sdk(host, plugin);
  std::vector<std::array<std::string, 3>> rows = {{"key", "this host", "plugin"}};
  std::string hints;
  for (const HardKey& hard : kHardKeys) {
    const std::string ours = value_of(host, hard.key), theirs = value_of(plugin, hard.key);
    if (ours == theirs) continue;
    rows.push_back({hard.key, ours, theirs});
    hints += fmt::format("\n  {}: {}", hard.key, hard.hint);
  }
  if (rows.size() > 1) {
    const std::string ours = value_of(host, "compiler_version"),
                      theirs = value_of(plugin, "compiler_version");
    if (ours != theirs) rows.push_back({"compiler_version", ours, theirs + "  (may differ)"});
    throw PluginRefused(
        Code::fingerprint, "a plugin built like this host", "another build",
        table(rows) + "\n  Rebuild the plugin with find_package(ghsdk) of this host:" + hints);
  }
  const std::string level = value_of(plugin, "cpu_level");
  const auto wanted = number(level);
  if (!wanted)
    throw PluginRefused(Code::bad_note, "an ELF note with cpu_level=1…4",
                        fmt::format("\"{}\"", level));
  if (*wanted > cpu_level)
    throw PluginRefused(
        Code::cpu_level,
        fmt::format("code for x86-64-v{} or lower, which this processor runs", cpu_level),
        fmt::format("x86-64-v{}", *wanted),
        fmt::format("{}\n  Rebuild the plugin with -march=x86-64-v{}, or run on a newer processor.",
                    table({{"key", "this host", "plugin"},
                           {"cpu_level", std::to_string(cpu_level), level}}),
                    cpu_level));
}

void check_needed(const std::vector<std::string>& needed,
                  const std::vector<std::string>& resident) {
  const auto is_resident = [&](const std::string& name) {
    return std::ranges::find(resident, name) != resident.end();
  };
  const auto first = [&](auto predicate) {
    const auto found = std::ranges::find_if(resident, predicate);
    return found == resident.end() ? std::string("none") : *found;
  };
  for (const std::string& name : needed) {
    const std::string base = std::filesystem::path(name).filename().string();
    if (is_resident(base)) continue;
    if (is_torch(base))
      throw PluginRefused(
          Code::foreign_library, "the LibTorch libraries this host has loaded",
          fmt::format("a need for {}", name),
          "Link ghsdk::ghsdk and no other LibTorch; two of them cannot share tensors.");
    const std::string openmp = first(is_openmp);
    if (is_openmp(base) && openmp != "none")
      throw PluginRefused(
          Code::foreign_library, fmt::format("the host's OpenMP runtime ({})", openmp),
          fmt::format("a need for {}", name),
          "Use at::parallel_for, or the compiler whose OpenMP LibTorch was built with.");
  }
}

std::vector<std::string> resident_libraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          static_cast<std::vector<std::string>*>(out)->push_back(
              std::filesystem::path(info->dlpi_name).filename().string());
        return 0;
      },
      &names);
  return names;
}

void check_note(const PluginNote& note) {
  check_fingerprint(host_fingerprint(), host_cpu_level(), note.fingerprint);
  check_needed(note.needed, resident_libraries());
}

}  // namespace gh::host
