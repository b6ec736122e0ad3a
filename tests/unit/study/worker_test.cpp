#include "study/worker.hpp"

#include "files/process_mark.hpp"
#include "run/run_lock.hpp"
#include "support/temporary_directory.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

namespace {

using namespace gh::host;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A study whose jobs are shell scripts, in the order in which they began.
struct Study {
  gh::test::TemporaryDirectory dir;
  JobList list;
  std::vector<std::string> scripts;
  std::vector<std::string> told;
  std::function<void(const std::string&)> on_line = [](const std::string&) {};
  bool fail_fast = false;
  std::size_t slots = 1;
  LeaseRules lease = {};

  void add(const std::string& id, const std::string& script, const std::string& from = "",
           double seconds = 1) {
    Job& job = list.jobs.emplace_back();
    job.id = job.label = id;
    job.directory = "runs/" + id;
    job.from = from;
    job.seconds = seconds;
    scripts.push_back(script);
  }

  WorkRules rules() {
    return {.study = dir.path(),
            .slots = std::vector<RunSlot>(slots),
            .start =
                [this](const Job& job, const RunSlot&) {
                  const auto index = static_cast<std::size_t>(&job - list.jobs.data());
                  return RunningProgram::Start{
                      .program = "/bin/sh",
                      .arguments = {"sh", "-c",
                                    "cd " + dir.path().string() + "; echo " + job.id +
                                        " >>order; " + scripts[index]}};
                },
            .tell =
                [this](const std::string& line) {
                  told.push_back(line);
                  on_line(line);
                },
            .lease = lease,
            .fail_fast = fail_fast};
  }
  WorkEnd run() { return work(list, rules()); }

  Words order() const {
    std::istringstream in(content(dir / "order"));
    return {std::istream_iterator<std::string>(in), {}};
  }
  Outcome outcome(const std::string& id) const { return read_outcome(dir / "outcomes", id); }
  bool was_told(const std::string& part) const {
    return std::any_of(told.begin(), told.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }
};

TEST_CASE("every job is run once, longest path first, after what it begins with") {
  Study study;
  study.add("last", "true", "", 1);
  study.add("trunk", "true", "", 1);
  study.add("arm", "true", "trunk", 9);
  study.add("second", "true", "", 3);
  CHECK(study.run() == WorkEnd::settled);
  CHECK(study.order() == Words{"trunk", "arm", "second", "last"});
  for (const Job& job : study.list.jobs) {
    const Outcome outcome = study.outcome(job.id);
    REQUIRE(outcome.attempts.size() == 1);
    CHECK(outcome.attempts[0].end.code == 0);
    CHECK(outcome.attempts[0].process == ::getpid());
    CHECK(fs::exists(study.dir.path() / outcome.attempts[0].log));
  }
  // Nothing is left to do for whoever comes next.
  CHECK(study.run() == WorkEnd::settled);
  CHECK(study.order().size() == 4);
}

TEST_CASE("one that fails is tried again after the others, and stops nobody") {
  Study study;
  study.list.retries = 2;
  study.add("flaky", "test -e mark && exit 0; touch mark; echo 'ghhost: no luck'; exit 1", "", 9);
  study.add("bad", "echo 'ghhost: no data'; exit 66", "", 8);
  study.add("crash", "kill -SEGV $$", "", 7);
  study.add("good", "true", "", 6);
  study.add("behind", "true", "bad", 0.5);
  CHECK(study.run() == WorkEnd::settled);
  CHECK(study.order() == Words{"flaky", "bad", "crash", "good", "flaky", "crash", "crash"});
  CHECK(judge(study.outcome("flaky"), 2) == Verdict::done);
  CHECK(study.outcome("flaky").attempts[0].why == "no luck");
  CHECK(study.outcome("bad").attempts[0].why == "no data");
  CHECK(study.outcome("crash").attempts.size() == 3);
  CHECK(study.outcome("crash").attempts[0].end.signal == SIGSEGV);
  CHECK(study.outcome("behind").attempts.empty());
  CHECK(study.was_told("bad: exit code 66: no data (logs/bad.log)"));
  // Asked for, the failures are forgotten; those that are done are not.
  CHECK(forgive_failed(study.list, study.dir.path()) == 2);
  study.scripts[1] = "true";
  CHECK(study.run() == WorkEnd::settled);
  CHECK(judge(study.outcome("bad"), 2) == Verdict::done);
  CHECK(judge(study.outcome("behind"), 2) == Verdict::done);
  CHECK(study.outcome("crash").attempts.size() == 6);
  CHECK(study.outcome("flaky").attempts.size() == 2);
}

const char* const kUntilStopped = "trap 'exit 75' TERM; touch ready; while :; do sleep 0.01; done";

TEST_CASE("who is interrupted lets its children save, and the next goes on") {
  Study study;
  study.slots = 2;
  study.add("a", std::string("test -e mark && exit 0; touch mark; ") + kUntilStopped, "", 2);
  study.add("b", "true", "a");
  // As a signal would, once the child is listening.
  std::thread signal([&] {
    while (!fs::exists(study.dir / "ready")) std::this_thread::yield();
    gh::set_interrupted(true);
  });
  CHECK(study.run() == WorkEnd::interrupted);
  signal.join();
  gh::set_interrupted(false);
  REQUIRE(study.outcome("a").attempts.size() == 1);
  CHECK(study.outcome("a").attempts[0].end.code == 75);
  CHECK(study.run() == WorkEnd::settled);
  CHECK(study.order() == Words{"a", "a", "b"});
}

TEST_CASE("while runs go on, a worker does something else, too") {
  Study study;
  study.add("a", "while ! test -e enough; do sleep 0.01; done");
  int calls = 0;
  WorkRules rules = study.rules();
  rules.meanwhile = [&] {
    if (++calls == 3) study.dir.write("enough", "");
  };
  CHECK(work(study.list, rules) == WorkEnd::settled);
}

TEST_CASE("where asked for, one failure stops the others") {
  Study study;
  study.slots = 2;
  study.fail_fast = true;
  study.list.retries = 0;
  study.add("long", kUntilStopped, "", 3);
  study.add("bad", "while ! test -e ready; do sleep 0.01; done; exit 1", "", 2);
  study.add("never", "true", "", 1);
  CHECK(study.run() == WorkEnd::failed_fast);
  CHECK(study.outcome("long").attempts[0].end.code == 75);
  CHECK(study.outcome("never").attempts.empty());
}

TEST_CASE("a child whose lease was lost is killed, and its end is not this worker's to tell") {
  Study study;
  study.lease.grace = 6;
  study.add("a", "test -e mark && exit 0; touch mark; exec sleep 1000");
  const std::string others = "free 60 0000000001 abcdef elsewhere 7 8\n";  // and has it no more
  study.on_line = [&](const std::string& line) {
    if (line == "a: begins") study.dir.write("leases/a.2", others);
  };
  CHECK(study.run() == WorkEnd::settled);
  CHECK(study.was_told("a: this worker has lost its lease"));
  CHECK(content(study.dir / "leases/a.2") == others);
  const Outcome outcome = study.outcome("a");
  REQUIRE(outcome.attempts.size() == 2);
  CHECK(outcome.attempts[0].ended.empty());
  CHECK(outcome.attempts[1].end.code == 0);
}

TEST_CASE("a run that somebody else writes is left alone until it is free") {
  Study study;
  study.add("a", "true");
  fs::create_directories(study.dir / "runs/a");
  auto by_hand = std::make_unique<RunLock>(study.dir / "runs/a");
  std::thread other([&] {
    while (content(study.dir / "leases/a.2").find("free") != 0) std::this_thread::yield();
    CHECK(study.order().empty());
    by_hand.reset();
  });
  CHECK(study.run() == WorkEnd::settled);
  other.join();
  CHECK(study.outcome("a").attempts.size() == 1);
}

TEST_CASE("a worker that is killed takes its child with it, and another goes on at once") {
  Study study;
  study.add("a", "test -e pid && exit 0; echo $$ >pid; exec sleep 1000");
  const pid_t worker = ::fork();
  if (worker == 0) {
    study.run();
    ::_exit(0);
  }
  while (content(study.dir / "pid").find('\n') == std::string::npos) std::this_thread::yield();
  const int child = std::stoi(content(study.dir / "pid"));
  const std::string start = start_of_process(child);
  REQUIRE_FALSE(is_process_gone(child, start));
  ::kill(worker, SIGKILL);
  CHECK(study.run() == WorkEnd::settled);  // the killed one has not been waited for yet
  while (!is_process_gone(child, start)) std::this_thread::yield();
  ::waitpid(worker, nullptr, 0);
  const Outcome outcome = study.outcome("a");
  REQUIRE(outcome.attempts.size() == 2);
  CHECK(outcome.attempts[0].ended.empty());
}

TEST_CASE("what was removed is done again, with the trunk that it needs and no other") {
  Study study;
  for (const std::string name : {"1", "2"}) {
    study.add("trunk" + name, "mkdir -p runs/trunk" + name);
    study.list.jobs.back().until = 5;
  }
  for (const std::string name : {"1", "2"})
    study.add("arm" + name, "mkdir -p runs/arm" + name, "trunk" + name);
  study.run();
  REQUIRE(study.order().size() == 4);
  CHECK(forget_removed(study.list, study.dir.path()) == 0);
  for (const char* name : {"trunk1", "trunk2", "arm2"}) fs::remove(study.dir / "runs" / name);
  CHECK(forget_removed(study.list, study.dir.path()) == 2);
  CHECK(study.run() == WorkEnd::settled);
  const Words order = study.order();
  CHECK(Words(order.begin() + 4, order.end()) == Words{"trunk2", "arm2"});
}

// A worker looks for something to do in the files of all jobs. Each gets its share: a job here
// takes longer than all of them need to look.
TEST_CASE("of sixty-four workers on one directory none goes without") {
  constexpr int kWorkers = 64, kEach = 3;
  Study study;
  for (int i = 0; i < kWorkers * kEach; ++i) study.add(fmt::format("job{}", i), "sleep 1");
  std::vector<pid_t> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(::fork());
    if (workers.back() != 0) continue;
    study.run();
    ::_exit(0);
  }
  for (const pid_t worker : workers) ::waitpid(worker, nullptr, 0);
  std::map<int64_t, int> by;
  for (const Job& job : study.list.jobs) {
    const Outcome outcome = study.outcome(job.id);
    REQUIRE(outcome.attempts.size() == 1);
    ++by[outcome.attempts[0].process];
  }
  CHECK(study.order().size() == study.list.jobs.size());
  CHECK(by.size() == kWorkers);
  for (const auto& [process, jobs] : by) CHECK(jobs <= 2 * kEach);
}

TEST_CASE("a job is ghhost run, which goes on, stops and begins where the list says") {
  JobList list;
  list.plugins = {"/p/one.so"};
  for (const std::string id : {"t", "a"}) {
    Job& job = list.jobs.emplace_back();
    job.id = id;
    job.recipe = "recipes/" + id + ".toml";
    job.directory = "runs/" + id;
  }
  list.jobs[0].until = 5;
  list.jobs[1].from = "t";
  CHECK(run_arguments(list, "/s", list.jobs[0]) == Words{"--plugin", "/p/one.so", "run",
                                                         "/s/recipes/t.toml", "--out", "/s/runs/t",
                                                         "--resume", "--until", "5"});
  CHECK(run_arguments(list, "/s", list.jobs[1]) == Words{"--plugin", "/p/one.so", "run",
                                                         "/s/recipes/a.toml", "--out", "/s/runs/a",
                                                         "--resume", "--fork", "/s/runs/t"});
}

}  // namespace
