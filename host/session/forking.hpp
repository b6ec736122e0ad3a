// A run that begins with what another one trained, where both train alike: its directory becomes
// what it would be had it been trained to that point by itself and stopped there.
#pragma once

#include "run/checkpoint_store.hpp"
#include "run/run_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gh::host {

struct Assembly;

struct ForkPoint {
  std::filesystem::path run;  // the other
  int64_t epochs = 0;
  std::optional<Checkpoint> checkpoint = {};  // of `run`; the first rank has it
};

// The newest checkpoint of `from` at the end of an epoch up to which its recipe and `run`'s train
// alike. Throws gh::Error: (invalid_param) naming the keys where they do not as far as `from` was
// trained, or where data or versions of plugins differ, (missing_data) where it has no checkpoint.
ForkPoint find_fork_point(Assembly& run, const std::filesystem::path& from);

// Puts it into the directory, which is described already, as the last thing the checkpoint to go on
// from: a process that is killed before leaves a run without one. A collective.
Checkpoint fork_into(const ForkPoint& point, Assembly& run, RunDirectory& directory);

}  // namespace gh::host
