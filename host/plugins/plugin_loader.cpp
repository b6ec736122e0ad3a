#include "plugins/plugin_loader.hpp"

#include "plugins/library_image.hpp"
#include "plugins/plugin_error.hpp"
#include "text/plain_text.hpp"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <fmt/format.h>
#include <boost/dll/shared_library.hpp>

#include <exception>

namespace gh::host {
namespace {

using Code = PluginErrorCode;
using boost::dll::shared_library;

// rtld_now names a missing symbol here instead of killing the run at its first call; rtld_local
// keeps plugins out of each other's symbols. Boost has no name for NODELETE but hands the bits to
// dlopen.
constexpr auto kMode = static_cast<boost::dll::load_mode::type>(
    static_cast<int>(boost::dll::load_mode::rtld_now) |
    static_cast<int>(boost::dll::load_mode::rtld_local) | RTLD_NODELETE);

std::shared_ptr<shared_library> open_library(const FileContent& content) {
  const std::filesystem::path image = library_image(content);
  try {
    return std::make_shared<shared_library>(image, kMode);
  } catch (const std::exception& e) {
    // The linker's words, with the name that its reader knows.
    std::string found = e.what();
    for (std::size_t at = 0; (at = found.find(image.string(), at)) != std::string::npos;
         at += content.file.string().size())
      found.replace(at, image.string().size(), content.file.string());
    throw PluginRefused(Code::load_failed, "a library the dynamic linker can load", found);
  }
}

extern "C" void keep_message(void* sink, const char* message) {
  if (message != nullptr) *static_cast<std::string*>(sink) = message;
}

const gh_manifest_v1* call_entry(gh_plugin_entry_v1_fn entry) {
  std::string message;
  const gh_host_v1 host{sizeof(gh_host_v1), GH_SDK_MAJOR, GH_SDK_MINOR, 0, keep_message, &message};
  const gh_manifest_v1* manifest = nullptr;
  constexpr std::string_view kExpected = GH_ENTRY_SYMBOL " to return 0";
  int32_t status = 0;
  try {
    status = entry(&host, &manifest);
  } catch (const std::exception& e) {
    throw PluginRefused(Code::entry_failed, kExpected, fmt::format("an exception: {}", e.what()));
  } catch (...) {
    throw PluginRefused(Code::entry_failed, kExpected, "an exception of unknown type");
  }
  if (status != 0)
    throw PluginRefused(Code::entry_failed, kExpected,
                        fmt::format("{}{}{}", status, message.empty() ? "" : ": ",
                                    is_plain_text(message) ? message : "(no text)"));
  if (manifest == nullptr)
    throw PluginRefused(Code::null_manifest, GH_ENTRY_SYMBOL " to hand over a manifest", "null");
  return manifest;
}

}  // namespace

OpenedPlugin open_plugin(const FileContent& content, const PluginNote& note) {
  OpenedPlugin opened;
  const auto library = open_library(content);
  opened.handle = library;
  if (!library->has(GH_ENTRY_SYMBOL))
    throw PluginRefused(Code::no_entry, "the exported symbol " GH_ENTRY_SYMBOL, "none",
                        "End the source with GH_PLUGIN(…).");
  auto& entry = library->get<int32_t(const gh_host_v1*, const gh_manifest_v1**)>(GH_ENTRY_SYMBOL);
  opened.plugin.file = content.file;
  opened.plugin.sha256 = content.sha256;
  opened.plugin.note = note;
  copy_manifest(call_entry(&entry), note, opened.plugin);
  return opened;
}

}  // namespace gh::host
