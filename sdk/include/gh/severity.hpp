// How loud a message is.
#pragma once

namespace gh {
inline namespace v1 {

enum class Severity : int { detail = 0, info = 1, warning = 2 };

}  // namespace v1
}  // namespace gh
