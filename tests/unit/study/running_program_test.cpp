#include "study/running_program.hpp"

#include "study/slots.hpp"

#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

namespace {

using namespace gh::host;

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

RunningProgram::Start shell(const gh::test::TemporaryDirectory& dir, const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"sh", "-c", script}, .log = dir / "log"};
}

ProcessEnd end_of(RunningProgram& child) {
  for (;;) {
    pollfd fd{.fd = child.end_fd(), .events = POLLIN, .revents = 0};
    ::poll(&fd, 1, fd.fd < 0 ? 5 : -1);
    if (const auto end = child.ended()) return *end;
  }
}

TEST_CASE("a child says how it ended, and its output is added to the log") {
  const gh::test::TemporaryDirectory dir;
  dir.write("log", "before\n");
  RunningProgram child(shell(dir, "echo out; echo error >&2; cat; exit 66"));
  CHECK(end_of(child).code == 66);
  CHECK(child.ended()->signal == 0);  // says so again
  CHECK(content(dir / "log") == "before\nout\nerror\n");
  RunningProgram killed(shell(dir, "kill -SEGV $$"));
  CHECK(end_of(killed).signal == SIGSEGV);
  RunningProgram missing({.program = dir / "none", .arguments = {"none"}, .log = dir / "log"});
  CHECK(end_of(missing).code == 127);
  CHECK_THROWS_WITH(
      RunningProgram({.program = "/bin/true", .arguments = {"true"}, .log = dir / "a/b"}),
      Catch::Contains("a/b"));
}

TEST_CASE("a child has the environment and the cores it is given") {
  const gh::test::TemporaryDirectory dir;
  ::setenv("GH_TEST_CHILD", "old", 1);
  auto start = shell(dir, "echo $GH_TEST_CHILD; nproc");
  start.environment = {{"GH_TEST_CHILD", "new"}};
  start.cores = {own_cores().front()};
  RunningProgram child(start);
  CHECK(end_of(child).code == 0);
  CHECK(content(dir / "log") == "new\n1\n");
}

TEST_CASE("signals reach a child, whatever this process does about them") {
  const gh::test::TemporaryDirectory dir;
  std::signal(SIGTERM, SIG_IGN);
  RunningProgram child(shell(dir, "trap 'exit 75' TERM; echo ready; while :; do sleep 0.01; done"));
  std::signal(SIGTERM, SIG_DFL);
  while (content(dir / "log").empty()) std::this_thread::yield();
  child.send(SIGTERM);
  CHECK(end_of(child).code == 75);
  child.send(SIGTERM);  // nobody is there any more
}

TEST_CASE("a child ends with whoever holds it") {
  const gh::test::TemporaryDirectory dir;
  {
    const RunningProgram child(shell(dir, "echo $$; exec sleep 1000"));
    while (content(dir / "log").empty()) std::this_thread::yield();
  }
  CHECK(::kill(std::stoi(content(dir / "log")), 0) != 0);
}

}  // namespace
