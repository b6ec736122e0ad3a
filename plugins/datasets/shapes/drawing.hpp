// Draws one picture of a shape.
#pragma once

#include "gh/random.hpp"

#include <cstdint>
#include <span>

namespace shapes {

// Part of the fingerprint: raise it whenever a picture changes.
inline constexpr int kDrawingVersion = 1;

enum class Fill { solid, outlined };

// Fills `pixels`, [size, size, 3] HWC. Place, size, turn and colours come from `random`; `shape` is
// a place in kNames.
void draw(std::size_t shape, Fill fill, gh::Random random, int64_t size, std::span<uint8_t> pixels);

inline constexpr double kSmallestRadius = 0.22, kLargestRadius = 0.40;
// That of the shape which draw() makes of the same stream, in picture sizes.
double radius_of(gh::Random random);

}  // namespace shapes
