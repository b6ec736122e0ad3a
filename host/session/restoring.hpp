// Networks of a run as one of its checkpoints has them, for looking at them without training.
#pragma once

#include "session/session.hpp"

#include <cstdint>
#include <filesystem>

namespace gh::host {

struct Assembly;

struct Restored {
  std::filesystem::path file = {};  // checkpoint
  int64_t epochs = 0;               // done
  bool harmonized = false;          // as Trainer::harmonized()
};

// Puts a checkpoint into the networks. Throws gh::Error (missing_data) where `run` has none.
Restored restore(Assembly& assembly, const std::filesystem::path& run, Which which);

}  // namespace gh::host
