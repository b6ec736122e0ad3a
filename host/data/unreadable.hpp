// Samples that cannot be read, and what loader.on_error has done about them.
#pragma once

#include "gh/error.hpp"

#include <cstdint>
#include <string_view>

namespace gh::host {

// Whether the error is about what lies on disk, so that another sample may stand in.
inline bool is_unreadable(const Error& error) {
  return error.code() == ErrorCode::io || error.code() == ErrorCode::missing_data;
}

inline constexpr std::string_view kAboutUnreadable =
    "; `ghhost data check RECIPE` names every sample that cannot be read, and with "
    "loader.on_error = \"skip\" the next one that can be takes its place";

// Calls make(index) until it does not fail and returns that index: the one that was asked for or,
// with `skip`, the first readable one after it in a set of `size`. Otherwise throws with advice;
// passed(error) is told of the first failure that is passed over.
template <class Make, class Passed>
int64_t first_readable(int64_t index, int64_t size, bool skip, const Make& make,
                       const Passed& passed) {
  for (int64_t tried = 0;; ++tried, index = (index + 1) % size) {
    try {
      make(index);
      return index;
    } catch (const Error& error) {
      if (!is_unreadable(error)) throw;
      if (!skip) fail(error.code(), error.what(), kAboutUnreadable);
      if (tried + 1 == size) throw;
      if (tried == 0) passed(error);
    }
  }
}

}  // namespace gh::host
