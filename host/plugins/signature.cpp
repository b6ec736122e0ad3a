#include "plugins/signature.hpp"

#include "plugins/plugin_error.hpp"
#include "plugins/search_path.hpp"
#include "text/plain_text.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <span>
#include <utility>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSignature = 64, kPublicKey = 32;
constexpr std::string_view kBegin = "-----BEGIN PUBLIC KEY-----", kEnd = "-----END PUBLIC KEY-----";

using PublicBytes = std::array<uint8_t, kPublicKey>;

const unsigned char* bytes_of(const FileContent& content) {
  return reinterpret_cast<const unsigned char*>(content.bytes.data());
}

std::shared_ptr<BIO> reader_of(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

std::shared_ptr<EVP_MD_CTX> new_context() { return {EVP_MD_CTX_new(), EVP_MD_CTX_free}; }

bool is_ed25519(EVP_PKEY* key) {
  return key != nullptr && EVP_PKEY_base_id(key) == EVP_PKEY_ED25519;
}

std::string short_name(EVP_PKEY* key) {
  PublicBytes raw{};
  std::size_t size = raw.size();
  require(EVP_PKEY_get_raw_public_key(key, raw.data(), &size) == 1, ErrorCode::internal,
          "a key without bytes");
  return Digest().add(raw).hex().substr(0, 16);
}

// A password would be asked for at the terminal.
int no_password(char*, int, int, void*) { return -1; }

}  // namespace

fs::path signature_file(const fs::path& file) { return fs::path(file) += ".sig"; }

std::string sign(const FileContent& content, const fs::path& private_key) {
  const std::string pem = read_regular_file(private_key);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, no_password, nullptr), EVP_PKEY_free);
  require(is_ed25519(key.get()), ErrorCode::invalid_param, private_key.string(),
          " is no private Ed25519 key in PEM without a password; `openssl genpkey -algorithm "
          "ed25519 -out FILE` makes one");
  std::string signature(kSignature, '\0');
  std::size_t size = signature.size();
  const auto context = new_context();
  const bool done =
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(content), content.bytes.size()) == 1;
  require(done && size == kSignature, ErrorCode::internal, "OpenSSL does not sign with this key");
  return signature;
}

TrustedKeys::TrustedKeys(const fs::path& file) : file_(file) {
  const FileContent content = [&] {
    try {
      return read_checked(file);
    } catch (const PluginRefused& e) {
      fail(ErrorCode::invalid_param, "trusted keys: ", e.in(file).message);
    }
  }();
  std::string_view rest(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
  for (std::size_t at = 0; (at = rest.find(kBegin)) != std::string_view::npos;) {
    std::string_view before = rest.substr(0, at);
    before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);
    before.remove_prefix(before.find_last_of('\n') + 1);
    const std::size_t end = rest.find(kEnd, at);
    require(end != std::string_view::npos, ErrorCode::invalid_param, file.string(),
            ": a public key without an end");
    add(rest.substr(at, end + kEnd.size() - at), printable(before));
    rest.remove_prefix(end + kEnd.size());
  }
  require(!keys_.empty(), ErrorCode::invalid_param, file.string(),
          " holds no public key; `openssl pkey -in PRIVATE -pubout` writes one");
}

void TrustedKeys::add(std::string_view block, std::string owner) {
  EVP_PKEY* key = PEM_read_bio_PUBKEY(reader_of(block).get(), nullptr, no_password, nullptr);
  keys_.push_back(
      {std::move(owner), {key, [](void* k) { EVP_PKEY_free(static_cast<EVP_PKEY*>(k)); }}});
  require(is_ed25519(key), ErrorCode::invalid_param, file_.string(), ": key ", keys_.size(),
          " is no Ed25519 key");
}

std::string TrustedKeys::signer_of(const FileContent& content) const {
  const fs::path file = signature_file(content.file);
  std::error_code error;
  if (!fs::exists(file, error)) refuse(fmt::format("no file {}", file.string()));
  return signer_of(content.bytes, read_regular_file(file, kSignature + 1), file.string());
}

std::string TrustedKeys::signer_of(std::span<const std::byte> bytes, std::string_view signature,
                                   const std::string& from) const {
  if (signature.size() != kSignature)
    refuse(fmt::format("{}, which is not of {} bytes", from, kSignature));
  const auto* const signed_bytes = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const by = reinterpret_cast<const unsigned char*>(signature.data());
  for (const Key& key : keys_) {
    const auto context = new_context();
    auto* const pkey = static_cast<EVP_PKEY*>(key.key.get());
    if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, pkey) == 1 &&
        EVP_DigestVerify(context.get(), by, signature.size(), signed_bytes, bytes.size()) == 1)
      return fmt::format("{}{}key {}", key.owner, key.owner.empty() ? "" : ", ", short_name(pkey));
  }
  refuse(fmt::format("{}, by another key or for other bytes", from));
}

void TrustedKeys::refuse(std::string_view found) const {
  throw PluginRefused(PluginErrorCode::not_signed,
                      fmt::format("a signature by a key of {}", file_.string()), found);
}

fs::path default_key_file() { return user_file("XDG_CONFIG_HOME", ".config", "trusted-keys.pem"); }

}  // namespace gh::host
