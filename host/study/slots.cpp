#include "study/slots.hpp"

#include <sched.h>

#include <algorithm>
#include <sstream>

namespace gh::host {

std::vector<RunSlot> make_slots(int64_t count, const std::vector<int>& cores,
                                const std::vector<std::string>& gpus) {
  std::vector<RunSlot> slots(static_cast<std::size_t>(std::max<int64_t>(1, count)));
  const std::size_t each = std::max<std::size_t>(1, cores.size() / slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots.size() > 1 && !cores.empty())
      for (std::size_t k = 0; k < each; ++k)
        slots[i].cores.push_back(cores[(i * each + k) % cores.size()]);
    if (!gpus.empty()) slots[i].gpu = gpus[i % gpus.size()];
  }
  return slots;
}

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> out;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) out.push_back(core);
  return out;
}

std::vector<std::string> gpu_names(int64_t count, const char* visible) {
  std::vector<std::string> out;
  std::istringstream names(visible ? visible : "");
  for (int64_t i = 0; i < count; ++i) {
    std::string name;
    out.push_back(std::getline(names, name, ',') ? name : std::to_string(i));
  }
  return out;
}

}  // namespace gh::host
