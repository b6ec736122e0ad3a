#include "gh/version.hpp"

#include "gh/fingerprint.h"

namespace gh {
inline namespace v1 {

const char* sdk_fingerprint() noexcept { return GH_FINGERPRINT; }

}  // namespace v1
}  // namespace gh
