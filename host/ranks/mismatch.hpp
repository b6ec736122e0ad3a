// Ranks that send each other different amounts. Gloo notices in a thread of its own and throws
// there, where nobody can catch it: without this, the program ends by SIGABRT.
#pragma once

namespace gh::host {

// From here on, what Gloo throws in its thread ends the program with a message and code 1, after
// `record` was called with a short one in ASCII; null: nobody else is told. Whatever else ends in
// std::terminate() goes the way it went before. May be called again.
void tell_of_mismatches(void (*record)(const char* reason) = nullptr);

}  // namespace gh::host
