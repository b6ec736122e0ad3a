// The shapes, as polygons.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace shapes {

struct Point {
  double x = 0;
  double y = 0;  // upwards
};

inline constexpr std::array<std::string_view, 12> kNames = {
    "disc", "square", "triangle",  "star",  "plus",   "heart",
    "moon", "bar",    "hourglass", "arrow", "flower", "corner"};

// Corners of the shape with that place in kNames, around the origin and about one unit from it to
// the tips. Curves get some 4 * `detail` corners.
std::vector<Point> outline(std::size_t shape, int detail);

}  // namespace shapes
