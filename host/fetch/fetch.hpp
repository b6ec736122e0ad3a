// Bytes from a path or a URL of the user's choice. http and https only, through libcurl, which is
// loaded when it is first needed.
#pragma once

#include <cstddef>
#include <string>

namespace gh::host {

// Where `address` leads, seen from the file or URL `base`: itself where it says so, else beside
// `base`; what stands on the network leads to nothing on this machine. Throws gh::Error
// (invalid_param) for other kinds of URLs.
std::string resolve_address(const std::string& base, const std::string& address);

// The bytes of a regular file or of a URL. Throws gh::Error: missing_data where there is nothing,
// io for anything else, also where there are more than `most` bytes. Main thread.
std::string fetch(const std::string& address, std::size_t most);

}  // namespace gh::host
