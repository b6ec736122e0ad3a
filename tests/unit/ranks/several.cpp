#include "unit/ranks/several.hpp"

#include "support/case_seed.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <ATen/ops/empty.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace gh::host::test {
namespace {

using Clock = std::chrono::steady_clock;

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

constexpr double kGivenUp = 240;  // seconds: nothing that a test waits for takes so long

struct Child {
  pid_t process = 0;
  std::string output;  // a file
  Outcome outcome;
  bool ended = false;
};

// Ranks that are started together need not come up together on a busy machine. What a test says
// about time begins when the last of them is there: each leaves a file and waits for the others.
constexpr double kMeetingSeconds = 60;

void wait_for_the_others() {
  const std::filesystem::path directory = std::getenv("GH_TEST_MEETING");
  const long expected = std::atol(std::getenv("GH_TEST_STARTED"));
  std::ofstream(directory / std::getenv("RANK")) << "here";
  const auto begin = Clock::now();
  const auto come = [&] {
    using Iterator = std::filesystem::directory_iterator;
    return std::distance(Iterator(directory), Iterator());
  };
  while (come() < expected) {
    REQUIRE(Clock::now() - begin < std::chrono::duration<double>(kMeetingSeconds));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Child start(const std::string& test, int rank, int world, int port, const std::string& meeting,
            std::size_t started) {
  Child child;
  char output[] = "/tmp/gh_rank_XXXXXX";
  ::close(::mkstemp(output));
  child.output = output;
  std::vector<std::string> environment{
      "GH_TEST_RANK=1",
      "RANK=" + std::to_string(rank),
      "WORLD_SIZE=" + std::to_string(world),
      "MASTER_ADDR=127.0.0.1",
      "MASTER_PORT=" + std::to_string(port),
      "OMP_NUM_THREADS=1",
      "GH_TEST_MEETING=" + meeting,
      "GH_TEST_STARTED=" + std::to_string(started),
  };
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::string_view(*variable).find("OMP_NUM_THREADS=") != 0) environment.push_back(*variable);
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  std::string program = "/proc/self/exe", name = gh::test::case_argument(test);
  std::string warn = "--warn", of = "NoTests";
  char* arguments[] = {program.data(), name.data(), warn.data(), of.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_APPEND, 0);
  posix_spawn_file_actions_addopen(&actions, 2, output, O_WRONLY | O_APPEND, 0);
  REQUIRE(posix_spawn(&child.process, "/proc/self/exe", &actions, nullptr, arguments,
                      variables.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

std::string content(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void look_after(Child& child, double seconds, bool kill) {
  if (child.ended) return;
  if (kill) ::kill(child.process, SIGKILL);
  int status = 0;
  if (::waitpid(child.process, &status, kill ? 0 : WNOHANG) != child.process) return;
  child.ended = true;
  child.outcome.seconds = seconds;
  if (WIFEXITED(status)) child.outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) child.outcome.signal = WTERMSIG(status);
  child.outcome.output = content(child.output);
  ::unlink(child.output.c_str());
}

}  // namespace

bool is_rank() { return std::getenv("GH_TEST_RANK") != nullptr; }

std::vector<Outcome> start_ranks(int world, const std::vector<int>& left_out) {
  const std::string test = Catch::getResultCapture().getCurrentTestName();
  const gh::test::TemporaryDirectory meeting;
  const int port = free_port();
  const auto begin = Clock::now();
  std::vector<Child> children;
  for (int rank = 0; rank < world; ++rank)
    if (std::find(left_out.begin(), left_out.end(), rank) == left_out.end())
      children.push_back(start(test, rank, world, port, meeting.path().string(),
                               static_cast<std::size_t>(world) - left_out.size()));
  for (bool all = false; !all;) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    all = true;
    for (Child& child : children) {
      look_after(child, seconds, seconds > kGivenUp);
      all = all && child.ended;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::vector<Outcome> outcomes;
  for (Child& child : children) outcomes.push_back(std::move(child.outcome));
  return outcomes;
}

bool started_as_ranks(std::initializer_list<int> worlds) {
  if (is_rank()) return false;
  for (const int world : worlds)
    for (const Outcome& outcome : start_ranks(world)) {
      INFO("one of " << world << " ranks, signal " << outcome.signal << ":\n" << outcome.output);
      CHECK(outcome.exit_code == 0);
    }
  return true;
}

std::unique_ptr<Ranks> join_as_told(double timeout_seconds) {
  wait_for_the_others();
  RanksPlan plan;
  plan.timeout_seconds = timeout_seconds;
  return Ranks::join(read_launch([](const char* name) { return std::getenv(name); }), plan);
}

at::Tensor normal(uint64_t key, at::IntArrayRef shape) {
  at::Tensor numbers = at::empty(shape, at::kDouble);
  Random(key).fill_normal(numbers, 0, 1);
  return numbers;
}

at::Tensor own_rows(const Ranks& ranks, const at::Tensor& all) {
  const int64_t rows = all.size(0) / ranks.world();
  return all.narrow(0, ranks.rank() * rows, rows).clone();
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined() || a.sizes() != b.sizes()) return 1e300;
  const at::Tensor wide = b.detach().to(at::kDouble);
  const double size = std::max(wide.abs().max().item<double>(), 1e-300);
  return (a.detach().to(at::kDouble) - wide).abs().max().item<double>() / size;
}

}  // namespace gh::host::test
