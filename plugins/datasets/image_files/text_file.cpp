#include "text_file.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace image_files {
namespace {

struct File {
  int descriptor;
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

[[noreturn]] void fail_with(const std::string& path, int problem) {
  gh::fail(gh::ErrorCode::io, path, " cannot be read: ", std::strerror(problem));
}

}  // namespace

std::vector<uint8_t> read_bytes(const std::string& path) {
  const File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0) fail_with(path, errno);
  std::vector<uint8_t> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.descriptor, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with(path, errno);
    gh::require(got > 0, gh::ErrorCode::io, path, " ended after ", done, " of ", bytes.size(),
                " bytes");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string read_text(const std::string& path, std::string_view what) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  gh::require(status.type() != std::filesystem::file_type::not_found, gh::ErrorCode::missing_data,
              what, ", ", path, ", does not exist");
  gh::require(!std::filesystem::is_directory(status), gh::ErrorCode::invalid_param, what, ", ",
              path, ", is a directory; expected a text file");
  const std::vector<uint8_t> bytes = read_bytes(path);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return std::string(text);
}

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace image_files
