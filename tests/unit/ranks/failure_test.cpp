#include "ranks/gradient_reducer.hpp"

#include "gh/error.hpp"
#include "unit/ranks/several.hpp"

#include <catch2/catch.hpp>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

using namespace gh::host;
using namespace gh::host::test;

namespace {

// Seconds. Whatever ends before kLong, however busy the machine, did not wait for kNever.
constexpr double kLong = 120, kNever = 600;

// The message of the error that `action` ends with.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const gh::Error& error) {
    CHECK(error.code() == gh::ErrorCode::io);
    return error.what();
  }
  return "no error";
}

void check_lost(const std::string& message, const Ranks& ranks) {
  INFO(message);
  CHECK(message.find("rank " + std::to_string(ranks.rank()) + " lost the others (") == 0);
  CHECK_THAT(message, Catch::Contains("): another process died or hung for more than "));
  CHECK_THAT(message, Catch::EndsWith("s; start all ranks again with --resume"));
  CHECK(message.find('\n') == std::string::npos);
}

// One rank dies by itself; the others see that and end by themselves, soon.
void check_survivors(int world) {
  const std::vector<Outcome> outcomes = start_ranks(world);
  int killed = 0;
  for (const Outcome& outcome : outcomes) {
    INFO(outcome.output);
    if (outcome.signal == SIGKILL)
      ++killed;
    else
      CHECK(outcome.exit_code == 0);
    CHECK(outcome.seconds < kLong);
  }
  CHECK(killed == 1);
}

}  // namespace

TEST_CASE("a rank killed inside a collective is noticed by all others") {
  if (!is_rank()) {
    check_survivors(2);
    check_survivors(3);
    return;
  }
  const auto ranks = join_as_told(kNever);
  ranks->barrier();
  if (ranks->rank() == ranks->world() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others are waiting by then
    ::raise(SIGKILL);
  }
  const std::string message = error_of([&] { ranks->all_reduce_sum(at::ones({1000})); });
  check_lost(message, *ranks);
  CHECK(error_of([&] { ranks->barrier(); }) == message);
  CHECK(error_of([&] { ranks->all_gather(at::ones({3})); }) == message);
  CHECK(error_of([&] { ranks->broadcast_text("x"); }) == message);
}

TEST_CASE("a rank killed while gradients are on their way is noticed by all others") {
  if (!is_rank()) {
    check_survivors(2);
    check_survivors(3);
    return;
  }
  const auto ranks = join_as_told(kNever);
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < 4; ++i) parameters.push_back(at::zeros({1 << 19}).requires_grad_(true));
  GradientReducer reducer(*ranks, parameters, 1 << 20);
  const auto step = [&] {
    reducer.begin_step();
    for (at::Tensor& parameter : parameters) parameter.mutable_grad().reset();
    (parameters[0] + parameters[1] * parameters[2] + parameters[3]).sum().backward();
    reducer.finish({});
  };
  step();
  step();
  if (ranks->rank() == 0) {  // also the one that hosts the store
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::raise(SIGKILL);
  }
  check_lost(error_of([&] { step(), step(); }), *ranks);
}

TEST_CASE("a rank that stays away too long is noticed") {
  if (!is_rank()) {
    for (const Outcome& outcome : start_ranks(2)) {
      INFO(outcome.output);
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.seconds < kLong);
    }
    return;
  }
  const auto ranks = join_as_told(5);
  ranks->barrier();
  if (ranks->first()) {
    check_lost(error_of([&] { ranks->barrier(); }), *ranks);
    return;
  }
  // It finds the others gone.
  std::this_thread::sleep_for(std::chrono::seconds(8));
  check_lost(error_of([&] { ranks->all_reduce_sum(at::ones({1})); }), *ranks);
}

TEST_CASE("ranks that wait for one that never comes give up") {
  if (!is_rank()) {
    for (const int missing : {0, 1, 2}) {
      for (const Outcome& outcome : start_ranks(3, {missing})) {
        INFO("without rank " << missing << ":\n" << outcome.output);
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.seconds < kLong);
      }
    }
    return;
  }
  const std::string message = error_of([] { join_as_told(2); });
  INFO(message);
  CHECK_THAT(message, Catch::Contains("of 3 did not meet the others at 127.0.0.1:"));
  CHECK_THAT(message, Catch::Contains("within 2 s"));
  CHECK_THAT(message, Catch::Contains("MASTER_PORT"));
}

TEST_CASE("somebody who listens but never answers does not hold a rank beyond the timeout") {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  REQUIRE(::listen(listener, 16) == 0);
  Launch launch;
  launch.world = 2;
  launch.rank = 1;
  launch.address = "127.0.0.1";
  launch.port = ntohs(address.sin_port);
  RanksPlan plan;
  plan.timeout_seconds = 1;
  const std::string message = error_of([&] { Ranks::join(launch, plan); });
  INFO(message);
  CHECK_THAT(message, Catch::Contains("rank 1 of 2 did not meet the others at 127.0.0.1:"));
  CHECK_THAT(message, Catch::Contains("does not answer"));
  ::close(listener);
}

TEST_CASE("writing to a process that is gone is an error, not the end by a signal") {
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told();
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  ::close(ends[1]);
  CHECK(::write(ends[0], "x", 1) == -1);
  CHECK(errno == EPIPE);
  ::close(ends[0]);
  ranks->leave();
}

TEST_CASE("ranks that do not agree on how many they are say so on all of them") {
  if (!is_rank()) {
    for (const Outcome& outcome : start_ranks(2)) {
      INFO(outcome.output);
      CHECK(outcome.exit_code == 0);
    }
    return;
  }
  Launch launch = read_launch([](const char* name) { return std::getenv(name); });
  if (launch.rank == 1) launch.world = 3;
  CHECK_THROWS_WITH(Ranks::join(launch, {.timeout_seconds = 60}),
                    Catch::StartsWith("WORLD_SIZE is ") && Catch::Contains(" on another"));
}

TEST_CASE("a meeting point whose name nobody knows is an error at once") {
  Launch launch;
  launch.world = 2;
  launch.address = "no-such-machine.invalid";
  launch.port = 29500;
  for (launch.rank = 0; launch.rank < 2; ++launch.rank) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string message = error_of([&] { Ranks::join(launch, {}); });
    CHECK_THAT(message, Catch::Contains("the name no-such-machine.invalid: "));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  }
}

TEST_CASE("an error with gradients on their way does not keep a rank from ending") {
  if (!is_rank()) {
    for (const Outcome& outcome : start_ranks(2)) {
      INFO(outcome.output);
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.seconds < kLong);
    }
    return;
  }
  const auto ranks = join_as_told(kNever);
  ranks->barrier();
  if (ranks->first()) {  // starts something that the other never answers, and leaves
    const at::Tensor value = at::ones({10});
    const auto wait = ranks->start_sum(value);
    return;
  }
  std::this_thread::sleep_for(std::chrono::seconds(5));
}

TEST_CASE("ranks that send each other different amounts end with a message, not by a signal") {
  if (!is_rank()) {
    int told = 0;
    for (const Outcome& outcome : start_ranks(2)) {
      INFO(outcome.output);
      CHECK(outcome.signal == 0);
      told +=
          outcome.output.find("the ranks sent each other different amounts") != std::string::npos;
    }
    CHECK(told == 1);  // the one that expected less
    return;
  }
  const auto ranks = join_as_told(60);
  const std::string message =
      error_of([&] { ranks->all_gather(at::ones({1000 * (ranks->rank() + 1)})); });
  check_lost(message, *ranks);
}
