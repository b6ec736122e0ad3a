// Runs a command; whatever it throws becomes a message on stderr and an exit code.
#pragma once

#include <functional>

namespace gh::host {

int guarded(const std::function<int()>& work);

// The exit code of a command that ended with `code`, once all it printed is out: kIo, after a
// message, where a success could not be printed.
int checked_output(int code);

}  // namespace gh::host
