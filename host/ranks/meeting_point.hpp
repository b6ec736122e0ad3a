// Whether somebody listens at an address yet. LibTorch's own wait takes up to twice its timeout and
// prints its attempts.
#pragma once

#include <chrono>
#include <string>

namespace gh::host {

// Returns as soon as a connection can be made. gh::Error (io) with the reason at `deadline`, or at
// once for a name that does not exist.
void await_listener(const std::string& address, int port,
                    std::chrono::steady_clock::time_point deadline);

// gh::Error (io) for a name that does not exist.
void require_known(const std::string& address);

}  // namespace gh::host
