#include "gh/digest.hpp"

#include "gh/error.hpp"

#include <openssl/evp.h>

#include <array>

namespace gh {
inline namespace v1 {

struct Digest::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Digest::Digest() : state_(std::make_unique<State>()) {
  require(state_->context && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1,
          ErrorCode::internal, "OpenSSL has no SHA-256");
}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

Digest& Digest::add(std::span<const uint8_t> bytes) {
  require(state_ && EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1,
          ErrorCode::internal, "nothing can be added to a digest that has been read");
  return *this;
}

Digest& Digest::add(std::string_view text) {
  return add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string Digest::hex() {
  std::array<unsigned char, 32> value{};
  require(state_ && EVP_DigestFinal_ex(state_->context.get(), value.data(), nullptr) == 1,
          ErrorCode::internal, "a digest can be read once");
  state_.reset();
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : value) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace v1
}  // namespace gh
