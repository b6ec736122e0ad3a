// Detached signatures of plugin files (Ed25519): 64 bytes in FILE.sig, over the bytes of FILE, as
// `openssl pkeyutl -sign -rawin` makes them, too. Keys are PEM.
#pragma once

#include "plugins/file_checks.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// FILE.sig.
std::filesystem::path signature_file(const std::filesystem::path& file);

// The 64 bytes that the holder of this private key (a PEM file, without a password) signs `content`
// with. Throws gh::Error: missing_data, io, invalid_param.
std::string sign(const FileContent& content, const std::filesystem::path& private_key);

// The public keys of those whose plugins are trusted.
class TrustedKeys {
 public:
  // A file of "PUBLIC KEY" blocks; the line before a block says whose it is. Throws gh::Error
  // (invalid_param) where it holds no key, or one of another kind, and where others could change
  // it: what holds for plugin files holds for this one.
  explicit TrustedKeys(const std::filesystem::path& file);

  // Whose signature FILE.sig is: the name, and the first digits of the key's SHA-256. Throws
  // PluginRefused (not_signed) where it is nobody's.
  std::string signer_of(const FileContent& content) const;
  // The same of bytes that are no file yet; `from` is where the signature came from.
  std::string signer_of(std::span<const std::byte> bytes, std::string_view signature,
                        const std::string& from) const;

 private:
  struct Key {
    std::string owner;
    std::shared_ptr<void> key;
  };
  [[noreturn]] void refuse(std::string_view found) const;
  void add(std::string_view block, std::string owner);

  std::filesystem::path file_;
  std::vector<Key> keys_;
};

// $XDG_CONFIG_HOME/ghhost/trusted-keys.pem, by default in ~/.config.
std::filesystem::path default_key_file();

}  // namespace gh::host
