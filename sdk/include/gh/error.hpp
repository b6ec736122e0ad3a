// The one error type that crosses between host and plugins.
//
//   gh::require(points > 1, gh::ErrorCode::invalid_param,
//               "points must be at least 2, got ", points);
//
// The host adds component, phase and recipe position; a message says what was expected and what
// came.
#pragma once

#include "gh/export.hpp"

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gh {
inline namespace v1 {

// Values are frozen; new codes are appended.
enum class ErrorCode : int {
  invalid_param = 1,  // a recipe value cannot work
  shape = 2,          // a tensor has the wrong shape or dtype
  numeric = 3,        // NaN, infinity, no convergence
  io = 4,             // reading or writing failed
  missing_data = 5,   // a file or data set is not there; the message says where to get it
  unsupported = 6,    // asked for something this component cannot do
  out_of_memory = 7,
  internal = 8,  // a bug
#if GH_SDK_MINOR >= 1
  interrupted = 9,  // somebody asked the program to stop; since 1.1
#endif
};

// "invalid_param", "shape", … for messages and JSON.
GH_API std::string_view name_of(ErrorCode code) noexcept;

class GH_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  ~Error() override;
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// Throws Error with the parts streamed one after the other.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(code, text.str());
}

template <class... Parts>
void require(bool condition, ErrorCode code, const Parts&... parts) {
  if (!condition) fail(code, parts...);
}

// Collects what is wrong with a recipe, so that all of it can be reported at once.
class GH_API Complaints {
 public:
  virtual ~Complaints();
  // `key` is the parameter to change, as written in the recipe table of the component ("queue"), or
  // a dotted path from the recipe's root when it begins with a dot (".train.batch").
  virtual void add(std::string_view key, std::string_view message) = 0;
};

#if GH_SDK_MINOR >= 1
// What a Complaints of SDK 1.1 can do besides; see warn().
class GH_API Warnings {
 public:
  virtual ~Warnings();
  virtual void warn(std::string_view key, std::string_view message) = 0;
};

// Says something about a recipe that will work, but perhaps not as its author thinks. `key` as in
// Complaints::add(). Dropped where nobody listens. Since 1.1.
GH_API void warn(Complaints& out, std::string_view key, std::string_view message);
#endif

}  // namespace v1
}  // namespace gh
