#include "gh/error.hpp"

namespace gh {
inline namespace v1 {

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_param:
      return "invalid_param";
    case ErrorCode::shape:
      return "shape";
    case ErrorCode::numeric:
      return "numeric";
    case ErrorCode::io:
      return "io";
    case ErrorCode::missing_data:
      return "missing_data";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::internal:
      return "internal";
    case ErrorCode::interrupted:
      return "interrupted";
  }
  return "internal";
}

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(message), code_(code) {}
Error::~Error() = default;
Complaints::~Complaints() = default;
Warnings::~Warnings() = default;

void warn(Complaints& out, std::string_view key, std::string_view message) {
  if (auto* const warnings = dynamic_cast<Warnings*>(&out)) warnings->warn(key, message);
}

}  // namespace v1
}  // namespace gh
