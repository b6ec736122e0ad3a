// Our allocator for a Python process that has imported torch: bench/step.py gives it to the peer.
#include "machine/caching_allocator.hpp"

extern "C" __attribute__((visibility("default"))) void gh_install_allocator() {
  gh::host::install_caching_allocator();
}
