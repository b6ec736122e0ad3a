// SHA-256, so that fingerprints of data are the numbers sha256sum prints. Any thread, on objects
// that are not shared.
#pragma once

#include "gh/export.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gh {
inline namespace v1 {

class GH_API Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  Digest& add(std::span<const uint8_t> bytes);
  Digest& add(std::string_view text);
  // 64 hexadecimal digits of what was added. Once; the digest is used up.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v1
}  // namespace gh
