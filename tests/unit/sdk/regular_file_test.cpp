#include "gh/regular_file.hpp"

#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

namespace {

using Catch::Matchers::Contains;

// Code and message of what reading throws.
std::pair<gh::ErrorCode, std::string> refusal(const std::filesystem::path& file) {
  try {
    gh::read_regular_file(file.string());
  } catch (const gh::Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

TEST_CASE("a regular file is read whole, or its beginning, also by a link") {
  const gh::test::TemporaryDirectory dir;
  const std::string content = "line\n" + std::string(10000, '\0') + "end";
  const auto file = dir.write("file", content);
  std::filesystem::create_symlink(file, dir.path() / "link");
  CHECK(gh::read_regular_file(file.string()) == content);
  CHECK(gh::read_regular_file((dir.path() / "link").string()) == content);
  CHECK(gh::read_regular_file(file.string(), 4) == "line");
  CHECK(gh::read_regular_file(dir.write("empty", "").string()).empty());
  CHECK_FALSE(gh::read_regular_file("/proc/self/status").empty());  // says that it has 0 bytes
  const int fd = gh::open_regular_file(file.string());
  CHECK((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  ::close(fd);
}

TEST_CASE("what is no regular file is refused without waiting for it") {
  const gh::test::TemporaryDirectory dir;
  const auto pipe = dir.path() / "pipe", socket = dir.path() / "socket";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof(address.sun_path) - 1);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  using gh::ErrorCode;
  CHECK(refusal(pipe).first == ErrorCode::io);
  CHECK(refusal(pipe).second == pipe.string() + " is a pipe; expected a regular file");
  CHECK(refusal(socket).first == ErrorCode::io);
  CHECK(refusal(socket).second == socket.string() + " is a socket; expected a regular file");
  CHECK(refusal("/dev/zero").second == "/dev/zero is a device; expected a regular file");
  CHECK(refusal(dir.path()).second ==
        dir.path().string() + " is a directory; expected a regular file");
  CHECK(refusal(dir.path() / "nothing").first == ErrorCode::missing_data);
  CHECK_THAT(refusal(dir.path() / "nothing").second, Contains("No such file"));
  ::close(fd);
}

}  // namespace
