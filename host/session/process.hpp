// This process: which of a run's ranks it is, on which device and threads it computes, and where it
// speaks.
#pragma once

#include "machine/busy_watch.hpp"
#include "plan/plan.hpp"
#include "ranks/launch.hpp"
#include "ranks/ranks.hpp"
#include "train/console.hpp"

#include "gh/tensor.hpp"

#include <memory>
#include <optional>

namespace gh::host {

struct Process {
  enum class Company { as_launched, alone };
  // Waits for the other ranks. `here` in place of the plan's device, for what computes next to
  // nothing.
  Process(const ProcessPlan& plan, Company company, std::optional<at::Device> here = {});

  Launch launch;
  at::Device device;
  Console console;
  std::unique_ptr<Ranks> ranks;
  std::optional<BusyWatch> busy_watch;
  bool hears_data = true;  // what data sets say while they open is told
};

}  // namespace gh::host
