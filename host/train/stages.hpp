// The stages of a run: what a method plans before anything of it is built.
#pragma once

#include "plan/components.hpp"

#include "gh/host.hpp"
#include "gh/ssl.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gh::host {

struct Stage {
  std::string name;
  int64_t epochs = 0;  // 0: it only begins and ends
  int64_t first = 0;  // of its epochs, counted over all stages; keys order and views of its samples
};

// Asks the method; one that plans none has "train", of train.epochs. Throws gh::Error
// (invalid_param) for a negative number of epochs.
std::vector<Stage> plan_stages(const Made<SslMethod>& method, const RunFacts& facts);

}  // namespace gh::host
