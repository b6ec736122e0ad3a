#include "machine/memory.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

// The number after `key` at the beginning of a line.
std::optional<int64_t> number_at(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t value = 0;
    if (words >> name && name == key && words >> value) return value;
  }
  return std::nullopt;
}

std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  int64_t value = 0;
  if (in >> value) return value;  // "max": no limit
  return std::nullopt;
}

// The two versions of control groups say the same in other words.
struct GroupFiles {
  const char *limit, *used, *reclaimable;
};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};

// The least that is left in a group and those above it, up to `top`.
int64_t left_in_groups(const fs::path& top, const std::string& group, const GroupFiles& files) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (fs::path below = fs::path(group).relative_path();; below = below.parent_path()) {
    const fs::path here = top / below;
    const auto limit = number_in(here / files.limit);
    const auto used = number_in(here / files.used);
    if (limit && used) {
      const int64_t cache = number_at(here / "memory.stat", files.reclaimable).value_or(0);
      least = std::min(least, std::max<int64_t>(0, *limit - *used + cache));
    }
    if (below.empty()) return least;
  }
}

int64_t left_in_control_groups(const fs::path& root) {
  int64_t least = std::numeric_limits<int64_t>::max();
  std::ifstream in(root / "proc/self/cgroup");
  // "0::/group", or "9:memory:/group" of version 1.
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string group = line.substr(second + 1);
    if (controllers == ",,")
      least = std::min(least, left_in_groups(root / "sys/fs/cgroup", group, kVersion2));
    else if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, left_in_groups(root / "sys/fs/cgroup/memory", group, kVersion1));
  }
  return least;
}

}  // namespace

int64_t available_memory(const fs::path& root) {
  int64_t least = left_in_control_groups(root);
  const fs::path system = root / "proc/meminfo";
  if (const auto free = number_at(system, "MemAvailable:"))
    least = std::min(least, (*free + number_at(system, "SwapFree:").value_or(0)) * 1024);
  return least;
}

int64_t resident_memory() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::string in_gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

}  // namespace gh::host
