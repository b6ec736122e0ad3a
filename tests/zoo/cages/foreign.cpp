// Plugins that were built for another host. ZOO_SDK, ZOO_TORCH, … come from CMake. Loading one
// would abort: the host must refuse it by its note.
#include "zoo.h"

#include <cstdlib>

__attribute__((constructor)) static void never() { std::abort(); }

ZOO_PLUGIN()
