#include "study/progress.hpp"

#include "study/outcomes.hpp"
#include "study/worker.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh::host;

// A trunk of 10 epochs, two arms of 30 that begin with it, one of 30 that does not, shown twice.
struct Study {
  gh::test::TemporaryDirectory dir;
  JobList list;

  Study() {
    list.name = "study";
    Job& trunk = add("t", "", 10);
    trunk.until = 10;
    for (const char* arm : {"a", "b"}) {
      Job& job = add(arm, arm, 20);
      job.from = list.jobs.front().id;
      job.from_epoch = 10;
    }
    add("c", "c", 30);
    add("c", "c again", 30);
    list.mark_repeated();
  }
  Job& add(const std::string& id, const std::string& label, double seconds) {
    Job& job = list.jobs.emplace_back();
    job.id = id;
    job.label = label;
    job.directory = "runs/" + id;
    job.epochs = 30;
    job.seconds = seconds;
    return job;
  }
  void epochs(const std::string& id, int count) const {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += "{}\n";
    dir.write("runs/" + id + "/metrics.jsonl", lines);
  }
  void ended(const std::string& id, ProcessEnd end, double seconds = 0) const {
    write_outcome(outcomes_of(dir.path()), id,
                  {.attempts = {{.started = "s",
                                 .ended = "e",
                                 .end = end,
                                 .seconds = seconds,
                                 .log = "logs/" + id + ".log",
                                 .why = "why"}}});
  }
  StudySummary summary() const {
    Leases leases(leases_of(dir.path()));
    return summarize(dir.path(), list, leases);
  }
};

TEST_CASE("a study that has not begun") {
  const Study study;
  const StudySummary summary = study.summary();
  REQUIRE(summary.runs.size() == 4);  // trunks are no rows
  CHECK(count_state(summary, ArmState::fresh) == 4);
  CHECK(summary.epochs_planned == 10 + 20 + 20 + 30);  // what is shared counts once
  CHECK(summary.epochs_done == 0);
  CHECK(summary.seconds_left == 80.0);
  CHECK(seconds_of_work(study.dir.path(), study.list) == 80.0);
  CHECK(summary.runs[0].epochs_planned == 30);
  CHECK(summary.runs[0].seconds_left == 20.0);
}

TEST_CASE("states, epochs and time left come from outcomes, leases and run directories") {
  const Study study;
  study.ended("t", {.code = 0}, 40);  // four times what was thought
  study.epochs("a", 15);
  study.ended("a", {.code = 75}, 20);
  study.epochs("b", 20);
  study.dir.write("runs/b/status.json", R"({"epoch": 20, "epochs": 30, "seconds_left": 50})");
  write_outcome(outcomes_of(study.dir.path()), "b", {.attempts = {{.started = "s"}}});
  std::filesystem::create_directories(leases_of(study.dir.path()));
  Leases worker(leases_of(study.dir.path()));
  REQUIRE(worker.take("b") == Leases::Taken::yes);
  const StudySummary summary = study.summary();
  CHECK(summary.runs[0].state == ArmState::resumable);
  CHECK(summary.runs[0].epochs_done == 15);
  CHECK(summary.runs[0].seconds_left == 4 * 20 * 15.0 / 20);
  CHECK(summary.runs[1].state == ArmState::running);
  CHECK(summary.runs[1].epochs_done == 20);
  CHECK(summary.runs[1].seconds_left == 50.0);  // by its own pace
  CHECK(summary.runs[2].state == ArmState::fresh);
  CHECK(summary.epochs_done == 10 + 5 + 10);
  CHECK(*summary.seconds_left == 60 + 50 + 120);
}

TEST_CASE("several at a time take as much less, but no less than the longest path") {
  const Study study;
  std::filesystem::create_directories(leases_of(study.dir.path()));
  Leases worker(leases_of(study.dir.path()));
  for (const char* job : {"t", "c"}) {
    write_outcome(outcomes_of(study.dir.path()), job, {.attempts = {{.started = "s"}}});
    REQUIRE(worker.take(job) == Leases::Taken::yes);
  }
  CHECK(study.summary().seconds_left == 40.0);
  CHECK(count_state(study.summary(), ArmState::running) == 2);  // both rows of c; t is none
}

TEST_CASE("a failure says why and where, and what waits for it has failed, too") {
  const Study study;
  study.ended("t", {.code = 66});
  study.ended("c", {.code = 3});
  study.epochs("c", 30);
  const StudySummary summary = study.summary();
  CHECK(summary.runs[0].state == ArmState::failed);
  CHECK(summary.runs[0].failure ==
        "begins with runs/t, which failed: exit code 66: why (log: logs/t.log)");
  CHECK(summary.runs[2].state == ArmState::done);
  CHECK(summary.runs[2].epochs_done == 30);
  CHECK(summary.runs[2].failure == "exit code 3: why (log: logs/c.log)");
  REQUIRE(summary.problems.size() == 1);
  CHECK_THAT(summary.problems[0], Catch::Contains("runs/t"));
  CHECK(seconds_of_work(study.dir.path(), study.list) == 0.0);
}

TEST_CASE("what was removed is not done, but for trunks, whose arms may be") {
  Study study;
  for (const char* id : {"t", "a", "c"}) study.ended(id, {.code = 0});
  study.epochs("a", 30);
  const StudySummary summary = study.summary();
  CHECK(summary.runs[0].state == ArmState::done);
  CHECK(summary.runs[2].state == ArmState::fresh);
  CHECK(summary.epochs_done == 10 + 20);
}

TEST_CASE("nobody knows how long it takes that was not estimated, until something has ended") {
  Study study;
  for (Job& job : study.list.jobs) job.seconds = 0;
  CHECK_FALSE(study.summary().seconds_left);
  study.ended("t", {.code = 0}, 5);  // half a second an epoch
  CHECK(*study.summary().seconds_left == (20 + 20 + 30) / 2.0);
}

}  // namespace
