#include "study/engine.hpp"

#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using namespace gh::host;
using Catch::Matchers::Contains;

Engine read(const std::string& text, Diagnostics& out) {
  const gh::test::TemporaryDirectory dir;
  return read_engine(dir.write("engine.toml", text), out);
}

Engine engine(const std::string& text) {
  Diagnostics problems;
  Engine out = read(text, problems);
  INFO(problems.text());
  REQUIRE(!problems.has_errors());
  return out;
}

const std::string kHead = "name = 'E'\nfile = 'jobs.sh'\n";
Workers workers() {
  return {.study = "/studies/a",
          .name = "GH: K",
          .command = {"/bin/ghhost", "study", "work"},
          .count = 8,
          .limit = 3,
          .set = {}};
}

TEST_CASE("placeholders of the study, the workers and the engine's own values") {
  const Engine e = engine(kHead +
                          "text = '@name@ 0-@last@%@limit@ of @workers@, @time@: @command@'\n"
                          "submit = 'run @file@ B:TERM@@notice@ @120 a@b @Name@ @@'\n"
                          "[values]\ntime = '1:00'\nnotice = '60'\n");
  Workers w = workers();
  w.set = {"time=2:00=x"};
  const Submission s = fill(e, w);
  CHECK(s.file == "/studies/a/engine/jobs.sh");
  CHECK(s.text == "gh-k 0-7%3 of 8, 2:00=x: /bin/ghhost study work");
  CHECK(s.command == "run /studies/a/engine/jobs.sh B:TERM@60 @120 a@b @Name@ @@");
  w.limit = 0;
  CHECK_THAT(fill(e, w).text, Contains("0-7%8"));
  w.limit = 20;
  CHECK_THAT(fill(e, w).text, Contains("0-7%8"));
}

TEST_CASE("program and arguments of a worker apart") {
  const Engine e = engine(kHead + "text = '@program@|@arguments@'\nsubmit = 'x'\n");
  CHECK(fill(e, workers()).text == "/bin/ghhost|study work");
}

TEST_CASE("what cannot be filled in is refused with what there is") {
  const Engine e = engine(kHead + "text = '@tiem@'\nsubmit = 'x'\n[values]\ntime = '1'\n");
  CHECK_THROWS_WITH(fill(e, workers()), Contains("the text of E has the placeholder @tiem@") &&
                                            Contains("study, time, work"));
  Workers w = workers();
  w.set = {"tiem=2"};
  CHECK_THROWS_WITH(fill(e, w), Contains("got \"tiem=2\"; there are time"));
  w.set = {"time"};
  CHECK_THROWS_WITH(fill(e, w), Contains("expected key=value"));
  w = workers();
  w.study = "/studies/a b";
  CHECK_THROWS_WITH(fill(e, w), Contains("/studies/a b") && Contains("misread"));
  w = workers();
  w.command = {"/bin/ghhost", "--plugin", "$(rm)"};
  CHECK_THROWS_WITH(fill(e, w), Contains("$(rm)"));
  w = workers();
  w.count = 0;
  CHECK_THROWS_WITH(fill(e, w), Contains("at least one worker"));
}

TEST_CASE("mistakes of an engine's file are found at their place") {
  Diagnostics out;
  read(
      "nam = 'E'\nfile = '../jobs'\ntext = 1\n[values]\nTime = 'x'\nstudy = 'y'\ncores = 4\n"
      "[exit]\n256 = 'a'\nx = 'b'\n75 = 99\n",
      out);
  const std::string text = out.text();
  for (const char* message :
       {"did you mean 'name'", "without a directory", "expected a string, got 1", "small letters",
        "every engine has", "values.cores: expected a string, got an integer", "submit",
        "exit.256: expected an exit code", "exit.x: expected an exit code", "exit.75"})
    CHECK_THAT(text, Contains(message));
}

// Runs @work@ as a shell does; `worker` is the worker's shell text.
int run_work(const std::string& worker, const std::string& exits, const std::string& around = "") {
  const gh::test::TemporaryDirectory dir;
  const auto program = dir.write("worker", "#!/bin/sh\n" + worker + "\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  Workers w = workers();
  w.study = dir.path();
  w.command = {program.string()};
  const Engine e =
      engine(kHead + "text = '''\n" + around + "\n@work@\n'''\nsubmit = 'x'\n" + exits);
  const auto job = dir.write("job", fill(e, w).text);
  const int status = std::system(("cd " + dir.path().string() + " && sh " + job.string()).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a worker's exit code is the job's, unless the engine has another for it") {
  CHECK(run_work("exit 0", "") == 0);
  CHECK(run_work("exit 75", "") == 75);
  const std::string exits = "[exit]\n75 = 'exit 99'\n3 = 'exit 0'\n";
  CHECK(run_work("exit 75", exits) == 99);
  CHECK(run_work("exit 3", exits) == 0);
  CHECK(run_work("exit 4", exits) == 4);
}

TEST_CASE("signals reach the worker as SIGTERM, and it is waited for") {
  // The worker tells the shell around it, its parent, and saves for a while once it is told to stop.
  for (const std::string signal : {"TERM", "USR1", "USR2", "INT", "HUP"}) {
    INFO(signal);
    CHECK(run_work("trap 'sleep 0.2; exit 75' TERM\nkill -" + signal +
                       " $PPID\nwhile :; do sleep 0.05; done",
                   "[exit]\n75 = 'exit 99'\n") == 99);
  }
}

}  // namespace
