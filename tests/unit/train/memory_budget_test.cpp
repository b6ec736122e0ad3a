#include "train/memory_budget.hpp"

#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace gh::host;
using Catch::Contains;

namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// A machine with 8 GiB of available memory and 1 GiB of swap.
void describe_machine(const gh::test::TemporaryDirectory& root) {
  root.write("proc/meminfo",
             "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\nSwapFree:        1048576 "
             "kB\n");
}

}  // namespace

TEST_CASE("memory that is available is the least of the system's and of every control group's") {
  const gh::test::TemporaryDirectory root;
  CHECK(available_memory(root.path()) == std::numeric_limits<int64_t>::max());
  describe_machine(root);
  CHECK(available_memory(root.path()) == 9 * kGiB);

  root.write("proc/self/cgroup", "0::/user/job\n");
  root.write("sys/fs/cgroup/user/job/memory.max", "max\n");
  root.write("sys/fs/cgroup/user/job/memory.current", "5\n");
  CHECK(available_memory(root.path()) == 9 * kGiB);
  // 4 GiB for all of the user, 3 GiB of them taken, one of which is cached files.
  root.write("sys/fs/cgroup/user/memory.max", std::to_string(4 * kGiB) + "\n");
  root.write("sys/fs/cgroup/user/memory.current", std::to_string(3 * kGiB) + "\n");
  root.write("sys/fs/cgroup/user/memory.stat",
             "anon 12\ninactive_file " + std::to_string(kGiB) + "\n");
  CHECK(available_memory(root.path()) == 2 * kGiB);
}

TEST_CASE("control groups of the first version are read, too") {
  const gh::test::TemporaryDirectory root;
  describe_machine(root);
  root.write("proc/self/cgroup", "12:cpu,cpuacct:/x\n9:memory:/box\n");
  root.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(3 * kGiB) + "\n");
  root.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(kGiB) + "\n");
  CHECK(available_memory(root.path()) == 2 * kGiB);
}

TEST_CASE("the first layer that does not fit is refused before it is made") {
  gh::Random random(1);
  // 4800 bytes, and twice as many while they are drawn.
  WeighedLayers layers(gh::standard_layers(), 15000);
  CHECK(layers.linear({.in = 30, .out = 40}, random) != nullptr);
  CHECK(layers.convolution({.in = 2, .out = 4}, random) != nullptr);
  CHECK(layers.refusal() == "");
  CHECK_THROWS_AS(layers.linear({.in = 30, .out = 40}, random), gh::Error);
  CHECK_THAT(layers.refusal(), Contains("to draw their weights") && Contains("available"));
  // Nothing of these could be made on any machine.
  WeighedLayers wide(gh::standard_layers(), kGiB);
  CHECK_THROWS_AS(wide.linear({.in = int64_t{1} << 40, .out = int64_t{1} << 40}, random),
                  gh::Error);
}
