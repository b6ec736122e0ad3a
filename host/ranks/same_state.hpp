// Whether all ranks hold the same state. A checkpoint is the first one's; where another has drifted
// away from it, the run that is saved is not the run that goes on.
#pragma once

#include "ranks/ranks.hpp"

#include "gh/tensor.hpp"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

// 64 bits of type, shape and every byte: for noticing differences, not for keeping out forgers.
uint64_t fast_digest(const at::Tensor& tensor);
uint64_t fast_digest(std::span<const uint8_t> bytes);

// gh::Error (numeric) on every rank, naming what differs, the rank, and what to do. `differs` tells
// names that may differ. One short message where all agree. A collective.
void require_same_state(Ranks& ranks,
                        const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                        const std::map<std::string, std::string>& texts,
                        const std::function<bool(const std::string& name)>& differs);

}  // namespace gh::host
