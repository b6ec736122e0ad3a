// Steps 1 to 3: is the file there, may it be trusted, what are its bytes. Throws PluginRefused.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// Everything later steps look at, run or record: the file itself is opened no more.
struct FileContent {
  std::filesystem::path file;  // absolute, symbolic links resolved
  std::string sha256;
  std::vector<std::byte> bytes;
};

// Opens and reads the file once. not_found, unsafe_permissions, unreadable.
FileContent read_checked(const std::filesystem::path& file);

// Where an absolute path leads. Looks at everything passed on the way, links and the directories
// they stand in and lead through. not_found; unreadable; unsafe_permissions when everybody, or a
// group that is not trusted, may change a directory (one with the sticky bit, as /tmp, is fine:
// others cannot replace what is not theirs), or when a link or the file belongs to somebody who is
// not trusted.
std::filesystem::path follow_checked(const std::filesystem::path& absolute);

// Root, the user this runs as, and whoever owns the program: they could do anything anyway.
bool is_trusted(uid_t owner);
// Root's group, the user's private one (of the same name, nobody else in it), and those that may
// change the program or a directory on the way to it.
bool is_trusted_group(gid_t group);

}  // namespace gh::host
