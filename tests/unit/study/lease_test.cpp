#include "study/lease.hpp"

#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace gh::host;
using Taken = Leases::Taken;
namespace fs = std::filesystem;

constexpr double kGrace = 60;

// Machines that share a directory, and one clock that the test moves.
struct Shared {
  gh::test::TemporaryDirectory dir;
  std::atomic<double> now = 1000;

  std::unique_ptr<Leases> machine(const std::string& name) {
    return std::make_unique<Leases>(
        dir.path(),
        LeaseRules{.grace = kGrace, .machine = name, .clock = [this] { return now.load(); }});
  }
};

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a lease has one holder until it is given back") {
  Shared shared;
  const auto a = shared.machine("a"), b = shared.machine("b");
  CHECK_FALSE(a->is_known("job"));
  CHECK(a->take("job") == Taken::yes);
  CHECK(a->holds("job"));
  CHECK(b->is_known("job"));
  CHECK(b->take("job") == Taken::no);
  CHECK(a->take("job") == Taken::no);  // itself
  REQUIRE(b->holder("job"));
  CHECK(b->holder("job")->machine == "a");
  CHECK(b->holder("job")->process == ::getpid());
  CHECK(b->take("other job") == Taken::yes);
  a->give_back("job");
  CHECK_FALSE(a->holds("job"));
  CHECK_FALSE(b->holder("job"));
  CHECK(b->take("job") == Taken::yes);
  CHECK(a->take("job") == Taken::no);
}

TEST_CASE("what is held is given back at the end") {
  Shared shared;
  REQUIRE(shared.machine("a")->take("job") == Taken::yes);
  CHECK(shared.machine("b")->take("job") == Taken::yes);
}

TEST_CASE("a holder that beats keeps its lease, one that is silent for the grace period does not") {
  Shared shared;
  const auto a = shared.machine("a"), b = shared.machine("b");
  REQUIRE(a->take("job") == Taken::yes);
  for (int i = 0; i < 20; ++i) {
    CHECK(b->take("job") == Taken::no);
    shared.now = shared.now + kGrace / 3;
    a->beat();
    CHECK(a->holds("job"));
  }
  CHECK(b->take("job") == Taken::no);  // the last beat has been seen now
  shared.now = shared.now + kGrace - 1;
  CHECK(b->take("job") == Taken::no);
  CHECK(b->holder("job"));
  shared.now = shared.now + 1;
  CHECK_FALSE(b->holder("job"));
  CHECK(b->take("job") == Taken::from_the_dead);
  CHECK(b->holds("job"));
}

// Whoever looks for the first time cannot know how long it has been silent.
TEST_CASE("silence counts from when it is first seen") {
  Shared shared;
  const auto a = shared.machine("a");
  REQUIRE(a->take("job") == Taken::yes);
  shared.now = shared.now + 100 * kGrace;
  const auto b = shared.machine("b");
  CHECK(b->take("job") == Taken::no);
  shared.now = shared.now + kGrace;
  CHECK(b->take("job") == Taken::from_the_dead);
}

TEST_CASE("the grace period is that of the holder") {
  Shared shared;
  Leases patient(shared.dir.path(), {.grace = 10 * kGrace, .machine = "p", .clock = [&] {
                                       return shared.now.load();
                                     }});
  REQUIRE(patient.take("job") == Taken::yes);
  const auto b = shared.machine("b");
  CHECK(b->take("job") == Taken::no);
  shared.now = shared.now + 9 * kGrace;
  CHECK(b->take("job") == Taken::no);
}

TEST_CASE("a holder knows that it lost its lease before anybody can take it") {
  Shared shared;
  const auto a = shared.machine("a"), b = shared.machine("b");
  REQUIRE(a->take("job") == Taken::yes);
  REQUIRE(b->take("job") == Taken::no);
  shared.now = shared.now + kGrace / 2;
  CHECK_FALSE(a->holds("job"));
  CHECK(b->take("job") == Taken::no);
  // It does not get it back by beating late, nor does it keep others from taking it.
  a->beat();
  CHECK_FALSE(a->holds("job"));
  shared.now = shared.now + kGrace / 2;
  CHECK(b->take("job") == Taken::from_the_dead);
  const std::string mine = content(shared.dir / "job.2");
  a->beat();
  a->give_back("job");
  CHECK(content(shared.dir / "job.2") == mine);
  CHECK(b->holds("job"));
  b->beat();
  CHECK(b->holds("job"));
}

TEST_CASE("a holder that is succeeded finds out when it beats") {
  Shared shared;
  const auto a = shared.machine("a");
  REQUIRE(a->take("job") == Taken::yes);
  shared.dir.write("job.2", content(shared.dir / "job.1"));
  a->beat();
  CHECK_FALSE(a->holds("job"));
}

TEST_CASE("a lease whose file was removed or written by another is lost") {
  Shared shared;
  const auto a = shared.machine("a");
  REQUIRE(a->take("removed") == Taken::yes);
  REQUIRE(a->take("written") == Taken::yes);
  fs::remove(shared.dir / "removed.1");
  shared.dir.write("written.1", "held 60 0000000001 abcdef elsewhere 7 8\n");
  a->beat();
  CHECK_FALSE(a->holds("removed"));
  CHECK_FALSE(a->holds("written"));
  CHECK_FALSE(fs::exists(shared.dir / "removed.1"));
}

TEST_CASE("a file that is being written is nobody's for the grace period") {
  Shared shared;
  shared.dir.write("job.1", "");
  const auto a = shared.machine("a");
  CHECK(a->take("job") == Taken::no);
  shared.now = shared.now + kGrace;
  CHECK(a->take("job") == Taken::from_the_dead);
}

TEST_CASE("of a machine's own processes it is known at once whether they live") {
  const gh::test::TemporaryDirectory dir;
  const pid_t child = ::fork();
  if (child == 0) {
    Leases leases(dir.path());
    ::_exit(leases.take("job") == Taken::yes ? 0 : 1);  // gives nothing back
  }
  siginfo_t info{};
  // It has ended, but is not gone before somebody has waited for it.
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  REQUIRE(info.si_status == 0);
  Leases here(dir.path());
  CHECK(here.take("job") == Taken::from_the_dead);
  ::waitpid(child, nullptr, 0);
  // And this one lives, however silent it is.
  double now = 0;
  Leases other(dir.path(), {.clock = [&now] { return now; }});
  CHECK(other.take("job") == Taken::no);
  now = 1e9;
  CHECK(other.take("job") == Taken::no);
}

TEST_CASE("of many that want one lease at the same time, one gets it") {
  constexpr int kTakers = 8, kRounds = 40;
  Shared shared;
  std::vector<std::unique_ptr<Leases>> takers;
  for (int i = 0; i < kTakers; ++i) takers.push_back(shared.machine(fmt::format("m{}", i)));
  // A lease that is new, then one that was given back, then one whose holder fell silent.
  std::vector<int> winners(3 * kRounds, 0);
  std::atomic<int> got = 0;
  std::atomic<int> winner = -1;
  int round = 0;
  std::barrier start(kTakers + 1), end(kTakers + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kTakers; ++i)
    threads.emplace_back([&, i] {
      for (int r = 0; r < 3 * kRounds; ++r) {
        start.arrive_and_wait();
        if (takers[i]->take(fmt::format("job {}", round / 3)) != Taken::no) {
          ++got;
          winner = i;
        }
        end.arrive_and_wait();
      }
    });
  for (; round < 3 * kRounds; ++round) {
    got = 0;
    start.arrive_and_wait();
    end.arrive_and_wait();
    winners[round] = got;
    const std::string job = fmt::format("job {}", round / 3);
    if (round % 3 == 0 && winner >= 0) takers[winner]->give_back(job);
    if (round % 3 == 1) {
      for (const auto& taker : takers) taker->holder(job);  // all see its last beat
      shared.now = shared.now + kGrace;
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::all_of(winners.begin(), winners.end(), [](int count) { return count == 1; }));
}

TEST_CASE("of processes that take over together, one does") {
  const gh::test::TemporaryDirectory dir;
  constexpr int kProcesses = 6, kJobs = 40;
  for (int job = 0; job < kJobs; ++job)
    dir.write(fmt::format("job{}.1", job), "held 60 0000000001 abcdef elsewhere 7 8\n");
  // All see the leases of a machine that has died, and start together when the pipe is closed.
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      double now = 0;
      Leases leases(dir.path(), {.machine = fmt::format("m{}", i), .clock = [&] { return now; }});
      for (int job = 0; job < kJobs; ++job) leases.holder(fmt::format("job{}", job));
      now = 60;
      ::close(gate[1]);
      char byte;
      while (::read(gate[0], &byte, 1) > 0) {
      }
      int taken = 0;
      for (int job = 0; job < kJobs; ++job)
        taken += leases.take(fmt::format("job{}", job)) == Taken::from_the_dead ? 1 : 0;
      ::_exit(taken);
    }
    children.push_back(child);
  }
  ::close(gate[1]);
  int taken = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    taken += WEXITSTATUS(status);
  }
  ::close(gate[0]);
  CHECK(taken == kJobs);
  CHECK_FALSE(fs::exists(dir / "job0.3"));
}

TEST_CASE("a heart beats until it goes") {
  const gh::test::TemporaryDirectory dir;
  // By a clock that stands still it can take its time.
  Leases leases(dir.path(), {.grace = 0.012, .clock = [] { return 0.0; }});
  REQUIRE(leases.take("job") == Taken::yes);
  const std::string before = content(dir / "job.1");
  const LeaseHeart heart(leases);
  while (content(dir / "job.1") == before) std::this_thread::yield();
  SUCCEED("the file has changed");
}

TEST_CASE("a directory that cannot be written is named") {
  Leases leases("/nonexistent/leases");
  CHECK_FALSE(leases.holder("job"));
  CHECK_THROWS_WITH(leases.take("job"), Catch::Contains("/nonexistent/leases/job.1"));
}

}  // namespace
