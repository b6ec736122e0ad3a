#include "plugins/library_image.hpp"

#include "files/file_descriptor.hpp"
#include "plugins/plugin_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

namespace gh::host {
namespace {

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

[[noreturn]] void refuse(std::string_view call) {
  throw PluginRefused(PluginErrorCode::load_failed, "memory for the library that can be sealed",
                      fmt::format("{}: {}", call, std::strerror(errno)));
}

int make_memory(const std::string& name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = ::memfd_create(name.c_str(), kFlags | MFD_EXEC);
  // Kernels before 6.3 do not know the flag, and need none.
  return fd < 0 && errno == EINVAL ? ::memfd_create(name.c_str(), kFlags) : fd;
}

FileDescriptor seal(const FileContent& content) {
  FileDescriptor image(make_memory(content.file.filename().string().substr(0, 200)));
  if (image.get() < 0) refuse("memfd_create");
  for (std::size_t at = 0; at < content.bytes.size();) {
    const ssize_t done = ::write(image.get(), content.bytes.data() + at, content.bytes.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refuse("write");
    at += static_cast<std::size_t>(done);
  }
  if (::fcntl(image.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
      0)
    refuse("F_ADD_SEALS");
  return image;
}

bool is_traced() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("TracerPid:")) return std::stoi(line.substr(10)) != 0;
  return false;
}

}  // namespace

std::filesystem::path library_image(const FileContent& content) {
  if (is_traced()) return content.file;
  // As the dynamic linker's own list is, for the whole process.
  static std::map<std::string, FileDescriptor> images;
  auto found = images.find(content.sha256);
  if (found == images.end()) found = images.emplace(content.sha256, seal(content)).first;
  return fmt::format("/proc/self/fd/{}", found->second.get());
}

}  // namespace gh::host
