// Any bytes as ghhost.lock, and as an index of plugins: what it says, or a refusal that says why.
#include "fuzz/target.hpp"
#include "plugins/lock_file.hpp"
#include "plugins/plugin_index.hpp"
#include "text/plain_text.hpp"

#include <string_view>

using namespace gh::host;

namespace {

void require_that(bool holds) {
  if (!holds) std::abort();
}

// What becomes part of a file's name, or is compared with a digest.
void check(const std::string& name, const std::string& sha256) {
  require_that(is_component_id(name) && name.find('/') == std::string::npos);
  require_that(sha256.size() == 64);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string exact(reinterpret_cast<const char*>(data), size);
  gh::test::is_read([&] {
    const PluginLock lock(exact, "ghhost.lock");
    for (const LockedPlugin& plugin : lock.plugins()) {
      check(plugin.name, plugin.sha256);
      require_that(is_plain_text(plugin.version) && is_plain_text(plugin.build_id));
    }
  });
  gh::test::is_read([&] {
    for (const OfferedPlugin& plugin : read_index(exact, "index.json")) {
      for (const OfferedBuild& build : plugin.builds) {
        check(plugin.name, build.sha256);
        require_that(is_plain_text(build.url));
      }
      if (!plugin.builds.empty())
        gh::test::is_read([&] { choose_build(plugin, plugin.builds.back().version); });
    }
  });
  return 0;
}
