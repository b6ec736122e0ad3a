#include "session/process.hpp"

#include "machine/device.hpp"
#include "ranks/mismatch.hpp"
#include "run/last_words.hpp"

#include <ATen/Parallel.h>

#include <cstdlib>

namespace gh::host {

Process::Process(const ProcessPlan& plan, Company company, std::optional<at::Device> here)
    : launch(read_launch([](const char* name) { return std::getenv(name); })),
      device(here ? *here : choose_device(plan.device, launch.local_rank)),
      console(launch.rank > 0) {
  if (company == Company::alone) launch = {};
  at::set_num_threads(choose_threads(plan.threads, launch.local_world));
  busy_watch.emplace();
  if (launch.world > 1) {
    console.say(host::describe(launch));
    tell_of_mismatches(speak_last_words);
  }
  ranks = launch.world == 1
              ? Ranks::alone()
              : Ranks::join(launch, {.timeout_seconds = plan.timeout, .device = device});
}

}  // namespace gh::host
