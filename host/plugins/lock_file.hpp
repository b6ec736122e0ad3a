// ghhost.lock: the builds of plugins that were looked at and are meant. With one, nothing else is
// loaded. Written by `ghhost plugins lock`, for people to read and to keep beside their recipes.
#pragma once

#include "plugins/registry.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

struct LockedPlugin {
  std::string name, version;
  std::string sha256;    // of the file
  std::string build_id;  // may be empty
  std::map<std::string, std::string> fingerprint;
};

class PluginLock {
 public:
  // Throws gh::Error (invalid_param) where `text` is no lock file; `file` is what messages call it.
  PluginLock(std::string_view text, std::filesystem::path file);

  const std::vector<LockedPlugin>& plugins() const { return plugins_; }

  // Throws PluginRefused (not_locked) unless the lock has the file with this hash.
  void require(const PluginNote& note, const std::string& sha256) const;

 private:
  std::filesystem::path file_;
  std::vector<LockedPlugin> plugins_;
};

// Throws gh::Error: missing_data, io, invalid_param.
PluginLock read_lock(const std::filesystem::path& file);

// The lock of these files, those that are not usable left out, as it is written.
std::string lock_text(const std::vector<PluginFile>& files);

}  // namespace gh::host
