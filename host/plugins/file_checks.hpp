// Steps 1 to 3: is the file there, may it be trusted, what are its bytes. Throws PluginRefused.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// Tells whether a path still names the file that was read.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // unlike the modification time, it cannot be set back
  bool operator==(const FileIdentity&) const = default;
};

struct FileContent {
  std::filesystem::path file;  // absolute, symbolic links resolved
  FileIdentity identity;
  std::string sha256;
  std::vector<std::byte> bytes;
};

// Opens and reads the file once. not_found, unsafe_permissions, unreadable.
FileContent read_checked(const std::filesystem::path& file);

// unsafe_permissions when everybody may write the file, or replace it through a directory above it.
// A directory with the sticky bit (/tmp) is fine: others cannot replace what is not theirs.
void check_permissions(const std::filesystem::path& absolute_file);

// file_changed when `file` is no longer what was read.
void check_unchanged(const FileContent& content);

}  // namespace gh::host
