#include "files/process_mark.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

namespace gh::host {
namespace {

struct Stat {
  std::string state, start;  // empty: cannot be read
};

Stat stat_of(int64_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  Stat stat;
  std::string field;
  fields >> stat.state;  // the third field, which follows the name in brackets
  for (int i = 4; i <= 22; ++i)
    if (!(fields >> field)) return {};
  stat.start = field;
  return stat;
}

}  // namespace

std::string start_of_process(int64_t process) { return stat_of(process).start; }

bool is_process_gone(int64_t process, const std::string& start) {
  const Stat stat = stat_of(process);
  if (!stat.start.empty()) return stat.start != start || stat.state == "Z" || stat.state == "X";
  // Processes of others may be hidden.
  return ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
}

std::string machine_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace gh::host
