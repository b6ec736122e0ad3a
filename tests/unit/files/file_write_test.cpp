#include "files/file_write.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <fstream>
#include <iterator>

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

}  // namespace
