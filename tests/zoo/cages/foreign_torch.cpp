// Needs a library that looks like a second LibTorch.
#include "zoo.h"

extern "C" int answer();

ZOO_PLUGIN(c.flags = answer() == 42 ? 0u : 1u)
