// Geometric Harmonization in a run: built around the method before training, told of at its end.
#pragma once

#include "recipe/diagnostics.hpp"
#include "run/run_directory.hpp"

#include <cstdint>

namespace gh::host {

struct Assembly;

// Points of the recipe's structure, certified, and its allocator around them. `width` is that of
// the method's embedding.
void build_harmonizer(Assembly& run, int64_t width, Diagnostics& problems);

// What GH has to say of itself at the end. Nothing without [harmonize].
void write_harmony(const Assembly& run, RunDirectory& directory, int64_t epochs, bool harmonized);

}  // namespace gh::host
