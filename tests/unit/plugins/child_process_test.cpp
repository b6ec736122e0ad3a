#include "plugins/child_process.hpp"

#include "visitor.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>

using namespace gh::host;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

ChildOutcome run(const std::function<std::string(const SayDoing&)>& work,
                 std::chrono::milliseconds timeout = 10s) {
  return run_in_child(work, timeout);
}

}  // namespace

TEST_CASE("a child hands back what its function returned, however long") {
  const std::string large(3'000'000, 'x');
  CHECK(run([&](const SayDoing&) { return large; }).result == large);
  CHECK(run([](const SayDoing&) { return std::string(); }).result == "");
}

TEST_CASE("a child's end is told apart: signal, exit, _exit, exception, endless") {
  const ChildOutcome aborted = run([](const SayDoing& doing) -> std::string {
    doing("counting sheep");
    raise(SIGTERM);
    return "";
  });
  CHECK(!aborted.result);
  CHECK(aborted.signal == SIGTERM);
  CHECK_THAT(aborted.how_it_ended(), Contains("SIGTERM (Terminated) while counting sheep"));

  const ChildOutcome exited = run([](const SayDoing&) -> std::string { std::exit(3); });
  CHECK((exited.called_exit && exited.exit_code == 3 && !exited.result));
  const ChildOutcome quit = run([](const SayDoing&) -> std::string { _exit(4); });
  CHECK((!quit.called_exit && quit.exit_code == 4));
  const ChildOutcome thrown =
      run([](const SayDoing&) -> std::string { throw std::runtime_error("oh no"); });
  CHECK_THAT(thrown.how_it_ended(), Contains("oh no"));

  const auto begin = std::chrono::steady_clock::now();
  const ChildOutcome endless = run(
      [](const SayDoing&) -> std::string {
        for (;;) usleep(1000);
      },
      100ms);
  CHECK(endless.timed_out);
  CHECK(endless.refusal("waiting", 100ms).code() == PluginErrorCode::timed_out);
  CHECK(std::chrono::steady_clock::now() - begin < 60s);
}

TEST_CASE("a child neither prints nor flushes nor runs the parent's exit handlers") {
  const zoo::Enclosure here;
  const std::string log = (here / "log").string();
  // In a child of its own, because exit handlers stay for the life of a process.
  const ChildOutcome outer = run([&](const SayDoing&) {
    std::FILE* file = std::fopen(log.c_str(), "w");
    std::fputs("once\n", file);  // stays in the buffer
    ::on_exit(
        [](int, void* path) {
          std::FILE* f = std::fopen(static_cast<const char*>(path), "a");
          std::fputs("handler\n", f);
          std::fclose(f);
        },
        const_cast<char*>(log.c_str()));
    std::fputs("parent's", stdout);
    const ChildOutcome inner = run_in_child(
        [](const SayDoing&) -> std::string {
          std::puts("noise");
          std::exit(0);
        },
        10s);
    std::fclose(file);
    return inner.output;
  });
  CHECK(outer.result == "noise\n");
  CHECK(zoo::content_of(log) == "once\n");
}

TEST_CASE("only the end of a talkative child's output is kept") {
  const ChildOutcome outcome = run([](const SayDoing&) -> std::string {
    for (int i = 0; i < 100'000; ++i) std::printf("line %d\n", i);
    std::fflush(stdout);
    std::abort();
  });
  CHECK(outcome.output.size() < 10'000);
  CHECK_THAT(outcome.how_it_ended(), Contains("line 99999"));
}
