#include "files/file_write.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

namespace {

using namespace gh;
using namespace gh::host;
namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("replacing a file leaves the old one when it cannot be done") {
  const test::TemporaryDirectory dir;
  write_file_atomically(dir / "a", "old");
  write_file_atomically(dir / "a", "new");
  CHECK(content(dir / "a") == "new");
  CHECK_THROWS_AS(write_file_atomically(dir / "missing/a", "x"), Error);
  fs::create_directory(dir / "taken");
  CHECK_THROWS_AS(write_file_atomically(dir / "taken", "x"), Error);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 2);  // nothing temporary is left
}

TEST_CASE("a full disk is an error that says so, and the old file survives") {
  if (::access("/dev/full", W_OK) != 0) return;
  const test::TemporaryDirectory dir;
  write_file_atomically(dir / "a", "old");
  fs::create_symlink("/dev/full", dir / "a.tmp");
  CHECK_THROWS_WITH(write_file_atomically(dir / "a", "new"), Catch::Contains("No space left"));
  CHECK(content(dir / "a") == "old");
}

TEST_CASE("a file that several processes write at once is always that of one of them") {
  const test::TemporaryDirectory dir;
  std::vector<pid_t> writers;
  for (int i = 0; i < 4; ++i) {
    writers.push_back(::fork());
    if (writers.back() != 0) continue;
    int failed = 0;
    for (int round = 0; round < 200 && failed == 0; ++round) try {
        write_shared_file(dir / "a", std::string(1 + 9000 * i, static_cast<char>('a' + i)),
                          Durability::renamed);
        const std::string text = content(dir / "a");
        if (text.size() != 1 + 9000U * static_cast<unsigned>(text[0] - 'a')) failed = 1;
      } catch (const Error&) {
        failed = 2;
      }
    ::_exit(failed);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ::waitpid(writer, &status, 0);
    CHECK(status == 0);
  }
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

}  // namespace
