// Files that a user named, opened for reading. Only a regular file, or a link to one, is opened: a
// pipe, a socket or a device could hold the one who reads it for ever.
#pragma once

#include "gh/export.hpp"

#include <cstddef>
#include <limits>
#include <string>

#if GH_SDK_MINOR < 1
#error "gh/regular_file.hpp is of SDK 1.1, GH_SDK_TARGET asks for less"
#endif

namespace gh {
inline namespace v1 {

// A descriptor for reading that child processes do not inherit; the caller closes it. Never waits.
// Throws Error: missing_data where nothing is at `path`, io with what is there in place of a
// regular file, or with the system's reason. Any thread. Since SDK 1.1.
GH_API int open_regular_file(const std::string& path);

// The bytes of the file, at most the first `most` of them. Throws as open_regular_file(), and io
// when reading fails. Any thread. Since SDK 1.1.
GH_API std::string read_regular_file(const std::string& path,
                                     std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace v1
}  // namespace gh
