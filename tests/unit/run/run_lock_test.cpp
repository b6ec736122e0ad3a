#include "run/run_lock.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace {

using namespace gh::host;
namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A file system on which flock() fails.
RunLock::Flock without_flock(int error) {
  return [error](int, int) {
    errno = error;
    return -1;
  };
}

TEST_CASE("a lock is held by one at a time and given back") {
  const gh::test::TemporaryDirectory dir;
  CHECK_FALSE(RunLock::has_been_in(dir.path()));
  {
    const RunLock lock(dir.path());
    CHECK(lock.warning().empty());
    CHECK_THROWS_WITH(RunLock(dir.path()), Catch::Contains("being written by another process"));
  }
  const RunLock again(dir.path());
  CHECK(RunLock::has_been_in(dir.path()));
}

TEST_CASE("where the file system cannot lock, a file names the owner and keeps others out") {
  for (const int error : {ENOLCK, ENOTSUP, EOPNOTSUPP, EINVAL, ENOSYS}) {
    const gh::test::TemporaryDirectory dir;
    const auto flock = without_flock(error);
    {
      RunLock lock(dir.path(), flock);
      CHECK_THAT(lock.warning(), Catch::Contains("cannot lock"));
      CHECK_THROWS_WITH(RunLock(dir.path(), flock),
                        Catch::Contains("process " + std::to_string(::getpid())) &&
                            Catch::Contains("cannot lock") && Catch::Contains(".owner"));
      const RunLock moved = std::move(lock);  // one file, removed once
      CHECK(fs::exists(dir / ".owner"));
    }
    CHECK_FALSE(fs::exists(dir / ".owner"));
    CHECK(fs::exists(dir / ".lock"));
  }
}

TEST_CASE("an owner that is gone is succeeded, one on another machine is not") {
  const gh::test::TemporaryDirectory dir;
  const auto flock = without_flock(ENOLCK);
  std::string machine;
  {
    const RunLock lock(dir.path(), flock);
    std::istringstream(content(dir / ".owner")) >> machine;
  }
  // A process of this number, but one that began at another time.
  std::ofstream(dir / ".owner") << machine << ' ' << ::getpid() << " 1\n";
  { const RunLock lock(dir.path(), flock); }
  CHECK_FALSE(fs::exists(dir / ".owner"));
  const std::string elsewhere = "elsewhere 7 1\n";
  std::ofstream(dir / ".owner") << elsewhere;
  CHECK_THROWS_WITH(RunLock(dir.path(), flock),
                    Catch::Contains("process 7 on elsewhere") && Catch::Contains("remove"));
  CHECK(content(dir / ".owner") == elsewhere);
}

TEST_CASE("somebody who knows that an owner elsewhere is gone can say so") {
  const gh::test::TemporaryDirectory dir;
  const auto flock = without_flock(ENOLCK);
  std::ofstream(dir / ".owner") << "elsewhere 7 1\n";
  CHECK_THROWS(RunLock(dir.path(), flock));
  RunLock::forget_owner(dir.path());
  CHECK_NOTHROW(RunLock(dir.path(), flock));
}

TEST_CASE("whether a directory can be locked is known without locking it") {
  const gh::test::TemporaryDirectory dir;
  CHECK(RunLock::trouble_in(dir.path()).empty());
  const RunLock lock(dir.path());
  CHECK(RunLock::trouble_in(dir.path()).empty());  // somebody does
  CHECK(RunLock::trouble_in(dir / "none") == std::strerror(ENOENT));
}

TEST_CASE("any other failure to lock is told as what it is") {
  const gh::test::TemporaryDirectory dir;
  CHECK_THROWS_WITH(RunLock(dir.path(), without_flock(EIO)),
                    Catch::Contains("cannot lock") && !Catch::Contains("another process"));
  CHECK_THROWS_AS(RunLock(dir / "absent"), gh::Error);
}

TEST_CASE("a signal while locking is no failure") {
  const gh::test::TemporaryDirectory dir;
  int calls = 0;
  const RunLock lock(dir.path(), [&calls](int, int) {
    errno = EINTR;
    return ++calls < 3 ? -1 : 0;
  });
  CHECK(calls == 3);
}

}  // namespace
