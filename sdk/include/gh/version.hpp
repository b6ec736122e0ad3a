// What the installed libghsdk was built with.
#pragma once

#include "gh/export.hpp"

namespace gh {
inline namespace v1 {

// "key=value" lines, as in the ELF note of a plugin (gh/fingerprint.h).
GH_API const char* sdk_fingerprint() noexcept;

}  // namespace v1
}  // namespace gh
