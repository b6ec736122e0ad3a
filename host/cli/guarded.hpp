// Runs a command; whatever it throws becomes a message on stderr and an exit code.
#pragma once

#include <functional>

namespace gh::host {

int guarded(const std::function<int()>& work);

}  // namespace gh::host
