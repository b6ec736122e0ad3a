// Where a run is, between two optimiser steps.
#pragma once

#include "weights/safetensors.hpp"

#include <cstdint>

namespace gh::host {

// What is done: `epochs` and `steps` (of the epoch that runs) in stage number `stage`.
struct Position {
  int64_t stage = 0, epochs = 0, steps = 0;
  int64_t total = 0;  // optimiser steps over all stages
};

// Of a checkpoint, in a run of `stages`. Throws gh::Error (io) where it is not one of this
// version's, or of another method's stages.
Position read_position(const TensorFile& checkpoint, int64_t stages);

}  // namespace gh::host
