#include "plugins/plugin_error.hpp"

#include <fmt/format.h>

namespace gh::host {

std::string_view name_of(PluginErrorCode code) {
  switch (code) {
    case PluginErrorCode::not_found:
      return "not_found";
    case PluginErrorCode::unsafe_permissions:
      return "unsafe_permissions";
    case PluginErrorCode::unreadable:
      return "unreadable";
    case PluginErrorCode::not_elf:
      return "not_elf";
    case PluginErrorCode::truncated:
      return "truncated";
    case PluginErrorCode::wrong_architecture:
      return "wrong_architecture";
    case PluginErrorCode::no_note:
      return "no_note";
    case PluginErrorCode::bad_note:
      return "bad_note";
    case PluginErrorCode::sdk_major:
      return "sdk_major";
    case PluginErrorCode::sdk_minor:
      return "sdk_minor";
    case PluginErrorCode::fingerprint:
      return "fingerprint";
    case PluginErrorCode::cpu_level:
      return "cpu_level";
    case PluginErrorCode::foreign_library:
      return "foreign_library";
    case PluginErrorCode::duplicate:
      return "duplicate";
    case PluginErrorCode::load_failed:
      return "load_failed";
    case PluginErrorCode::crashed:
      return "crashed";
    case PluginErrorCode::timed_out:
      return "timed_out";
    case PluginErrorCode::file_changed:
      return "file_changed";
    case PluginErrorCode::no_entry:
      return "no_entry";
    case PluginErrorCode::entry_failed:
      return "entry_failed";
    case PluginErrorCode::null_manifest:
      return "null_manifest";
    case PluginErrorCode::bad_magic:
      return "bad_magic";
    case PluginErrorCode::bad_size:
      return "bad_size";
    case PluginErrorCode::manifest_mismatch:
      return "manifest_mismatch";
    case PluginErrorCode::bad_manifest:
      return "bad_manifest";
    case PluginErrorCode::bad_schema:
      return "bad_schema";
    case PluginErrorCode::duplicate_id:
      return "duplicate_id";
    case PluginErrorCode::create_failed:
      return "create_failed";
    case PluginErrorCode::conformance:
      return "conformance";
  }
  return "unknown";
}

PluginRefused::PluginRefused(PluginErrorCode code, std::string_view expected,
                             std::string_view found, std::string_view hint)
    : std::runtime_error(fmt::format("expected {}, found {}{}{}", expected, found,
                                     hint.empty() ? "" : "\n  ", hint)),
      code_(code) {}

PluginError PluginRefused::in(const std::filesystem::path& file) const {
  return {code_, file, fmt::format("{}: {}", file.string(), what())};
}

}  // namespace gh::host
