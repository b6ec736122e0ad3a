// What of a machine each of several runs at a time gets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gh::host {

struct RunSlot {
  std::vector<int> cores;  // empty: all this process may use
  std::string gpu;         // as CUDA_VISIBLE_DEVICES has it; empty: whichever a run asks for
};

// `count` slots share `cores`. Each gets as many as the others, as numbers depend on how many
// threads compute them; where there are fewer cores than slots, several share one. GPUs go round.
std::vector<RunSlot> make_slots(int64_t count, const std::vector<int>& cores,
                                const std::vector<std::string>& gpus);

// Those this process may run on.
std::vector<int> own_cores();

// Names of `count` GPUs that are visible: those in CUDA_VISIBLE_DEVICES, `visible`, or else their
// numbers.
std::vector<std::string> gpu_names(int64_t count, const char* visible);

}  // namespace gh::host
