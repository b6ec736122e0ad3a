#include "zoo.h"

extern "C" void gh_zoo_defined_nowhere();

ZOO_PLUGIN(gh_zoo_defined_nowhere())
