// Static initialisers that end the process; ZOO_CASE picks how.
#include "zoo.h"

#include <cstdlib>
#include <stdexcept>

static const int kTrap = [] {
  if (ZOO_CASE == 0) std::abort();
  if (ZOO_CASE == 1) throw std::runtime_error("thrown where nobody can catch it");
  if (ZOO_CASE == 2) std::exit(0);
  return 1;
}();

ZOO_PLUGIN(c.flags = kTrap ? 0u : 1u)
