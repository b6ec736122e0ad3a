#include "study/outcomes.hpp"

#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <csignal>

namespace {

using namespace gh::host;

Attempt ended(int code, int signal = 0) {
  return {.started = "s", .ended = "e", .end = {.code = code, .signal = signal}, .seconds = 2};
}
Attempt vanished() { return {.started = "s"}; }

TEST_CASE("exit codes and signals decide") {
  const std::pair<int, Ending> by_code[] = {
      {0, Ending::done},         {3, Ending::evaluations_failed},
      {75, Ending::interrupted}, {64, Ending::hopeless},
      {65, Ending::hopeless},    {66, Ending::hopeless},
      {78, Ending::hopeless},    {1, Ending::failed},
      {2, Ending::failed},       {63, Ending::failed},
      {67, Ending::failed},      {70, Ending::failed},
      {74, Ending::failed},      {127, Ending::failed}};
  for (const auto& [code, ending] : by_code) {
    CAPTURE(code);
    CHECK(meaning_of({.code = code}) == ending);
  }
  for (const int asked : {SIGTERM, SIGINT, SIGUSR1})
    CHECK(meaning_of({.signal = asked}) == Ending::interrupted);
  for (const int hit : {SIGKILL, SIGSEGV, SIGABRT, SIGXCPU, SIGHUP})
    CHECK(meaning_of({.signal = hit}) == Ending::failed);
  CHECK(end_text({.code = 66}) == "exit code 66");
  CHECK(end_text({.signal = SIGSEGV}) == "SIGSEGV");
}

TEST_CASE("so many attempts are made as are allowed to fail, and one") {
  Outcome outcome;
  CHECK(judge(outcome, 2) == Verdict::open);
  for (int i = 0; i < 2; ++i) outcome.attempts.push_back(ended(1));
  CHECK(judge(outcome, 2) == Verdict::open);
  CHECK(judge(outcome, 1) == Verdict::failed);
  outcome.attempts.push_back(ended(0, SIGSEGV));
  CHECK(judge(outcome, 2) == Verdict::failed);
  CHECK(failures(outcome) == 3);
  CHECK(seconds_spent(outcome) == 6);
  outcome.forgiven = 3;
  CHECK(judge(outcome, 2) == Verdict::open);
  CHECK(failures(outcome) == 0);
  CHECK(seconds_spent(outcome) == 6);
  outcome.attempts.push_back(ended(0));
  CHECK(judge(outcome, 2) == Verdict::done);
}

TEST_CASE("being interrupted or killed with its worker is no failure") {
  Outcome outcome;
  for (int i = 0; i < 50; ++i) {
    outcome.attempts.push_back(ended(75));
    outcome.attempts.push_back(vanished());
    outcome.attempts.push_back(ended(0, SIGTERM));
  }
  CHECK(judge(outcome, 0) == Verdict::open);
  outcome.attempts.push_back(ended(3));
  CHECK(judge(outcome, 0) == Verdict::evaluations_failed);
}

TEST_CASE("what is hopeless is not tried again") {
  for (const int code : {64, 65, 66, 78}) {
    CHECK(judge({.attempts = {ended(code)}}, 9) == Verdict::failed);
    CHECK(judge({.attempts = {ended(code)}, .forgiven = 1}, 9) == Verdict::open);
  }
}

TEST_CASE("outcomes come back from their files") {
  const gh::test::TemporaryDirectory dir;
  CHECK(read_outcome(dir / "outcomes", "job").attempts.empty());
  Outcome outcome{.attempts = {ended(66), ended(0, SIGKILL), vanished()}, .forgiven = 1};
  outcome.attempts[0].why = "no \"data\"\n";
  outcome.attempts[1].machine = "node";
  outcome.attempts[1].process = 7;
  outcome.attempts[1].log = "logs/a.log";
  outcome.attempts[1].log_begin = 12;
  write_outcome(dir / "outcomes", "job", outcome);
  const Outcome back = read_outcome(dir / "outcomes", "job");
  REQUIRE(back.attempts.size() == 3);
  CHECK(back.forgiven == 1);
  CHECK(back.attempts[0].end.code == 66);
  CHECK(back.attempts[0].why == "no \"data\"\n");
  CHECK(back.attempts[0].seconds == 2);
  CHECK(back.attempts[1].end.signal == SIGKILL);
  CHECK(back.attempts[1].machine == "node");
  CHECK(back.attempts[1].process == 7);
  CHECK(back.attempts[1].log == "logs/a.log");
  CHECK(back.attempts[1].log_begin == 12);
  CHECK(back.attempts[2].started == "s");
  CHECK(back.attempts[2].ended.empty());
  for (const char* damage :
       {"", "{", "[]", "{\"attempts\": 3}", "{\"attempts\": [{\"code\": []}]}"}) {
    dir.write("outcomes/job.json", damage);
    CHECK_THROWS_WITH(read_outcome(dir / "outcomes", "job"), Catch::Contains("is damaged"));
  }
}

TEST_CASE("the reason of a failure is what ghhost said last of it") {
  const gh::test::TemporaryDirectory dir;
  const std::string first = "ghhost: the first time\n";
  const auto log = dir.write("log", first + "epoch 1\nghhost: cannot read x\nGo on with …\n\n");
  CHECK(last_complaint(log, 0) == "cannot read x");
  CHECK(last_complaint(log, static_cast<int64_t>(first.size())) == "cannot read x");
  CHECK(last_complaint(dir.write("other", first + "terminate called\n\n"), int64_t(first.size())) ==
        "terminate called");
  CHECK(last_complaint(dir.write("recipe", "a.toml:3:1: error: no such key\n  x = 1\n"), 0) ==
        "a.toml:3:1: error: no such key");
  CHECK(last_complaint(dir / "none", 0).empty());
}

}  // namespace
