#include "machine/memory.hpp"

#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace gh::host;

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
