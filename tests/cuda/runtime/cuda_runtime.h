// Found instead of the CUDA toolkit's header when kernel sources are compiled for the emulator.
#pragma once

#include "emulator.hpp"
