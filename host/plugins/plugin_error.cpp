#include "plugins/plugin_error.hpp"

#include <fmt/format.h>

#include <iterator>

namespace gh::host {
namespace {

using Code = PluginErrorCode;
struct Name {
  Code code;
  std::string_view text;
};
constexpr Name kNames[] = {
    {Code::not_found, "not_found"},
    {Code::unsafe_permissions, "unsafe_permissions"},
    {Code::unreadable, "unreadable"},
    {Code::not_elf, "not_elf"},
    {Code::truncated, "truncated"},
    {Code::wrong_architecture, "wrong_architecture"},
    {Code::no_note, "no_note"},
    {Code::bad_note, "bad_note"},
    {Code::sdk_major, "sdk_major"},
    {Code::sdk_minor, "sdk_minor"},
    {Code::fingerprint, "fingerprint"},
    {Code::cpu_level, "cpu_level"},
    {Code::foreign_library, "foreign_library"},
    {Code::duplicate, "duplicate"},
    {Code::not_locked, "not_locked"},
    {Code::not_signed, "not_signed"},
    {Code::load_failed, "load_failed"},
    {Code::crashed, "crashed"},
    {Code::timed_out, "timed_out"},
    {Code::file_changed, "file_changed"},
    {Code::no_entry, "no_entry"},
    {Code::entry_failed, "entry_failed"},
    {Code::null_manifest, "null_manifest"},
    {Code::bad_magic, "bad_magic"},
    {Code::bad_size, "bad_size"},
    {Code::manifest_mismatch, "manifest_mismatch"},
    {Code::bad_manifest, "bad_manifest"},
    {Code::bad_schema, "bad_schema"},
    {Code::duplicate_id, "duplicate_id"},
    {Code::create_failed, "create_failed"},
    {Code::conformance, "conformance"},
};

constexpr bool in_order_and_complete() {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i].code != static_cast<Code>(i)) return false;
  return std::size(kNames) == static_cast<std::size_t>(Code::conformance) + 1;
}
static_assert(in_order_and_complete());

}  // namespace

std::string_view name_of(PluginErrorCode code) {
  const auto at = static_cast<std::size_t>(code);
  return at < std::size(kNames) ? kNames[at].text : "unknown";
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
