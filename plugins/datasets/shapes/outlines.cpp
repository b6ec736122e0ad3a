#include "outlines.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace shapes {
namespace {

using Outline = std::vector<Point>;
using std::numbers::pi;

// radius(i, angle) for `count` angles from the top, clockwise.
template <class Radius>
Outline polar(int count, Radius radius) {
  Outline points;
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * pi * i / count;
    const double r = radius(i, angle);
    points.push_back({r * std::sin(angle), r * std::cos(angle)});
  }
  return points;
}

Outline heart(int count) {
  Outline points;
  for (int i = 0; i < count; ++i) {
    const double t = 2 * pi * i / count, s = std::sin(t);
    const double y = 13 * std::cos(t) - 5 * std::cos(2 * t) - 2 * std::cos(3 * t) - std::cos(4 * t);
    points.push_back({s * s * s, (y + 2.5) / 16});
  }
  return points;
}

// A circle around the origin without one around (0.5, 0) which meets it in the tips; `steps` for
// each of the two arcs.
Outline moon(int steps) {
  constexpr double kCentre = 0.5, kTip = pi / 3.6, kShift = 0.15;
  const double x = std::cos(kTip) - kCentre, y = std::sin(kTip);
  const double radius = std::hypot(x, y), inner_tip = std::atan2(y, x);
  Outline points;
  for (int i = 0; i <= steps; ++i) {
    const double angle = kTip + (2 * pi - 2 * kTip) * i / steps;
    points.push_back({std::cos(angle) + kShift, std::sin(angle)});
  }
  for (int i = steps - 1; i > 0; --i) {
    const double angle = inner_tip + (2 * pi - 2 * inner_tip) * i / steps;
    points.push_back({kCentre + radius * std::cos(angle) + kShift, radius * std::sin(angle)});
  }
  return points;
}

}  // namespace

std::vector<Point> outline(std::size_t shape, int detail) {
  switch (shape) {  // in the order of kNames
    case 0:
      return polar(4 * detail, [](int, double) { return 0.9; });
    case 1:
      return {{-.78, .78}, {.78, .78}, {.78, -.78}, {-.78, -.78}};
    case 2:
      return polar(3, [](int, double) { return 1.0; });
    case 3:
      return polar(10, [](int i, double) { return i % 2 ? 0.45 : 1.08; });
    case 4:
      return {{-.3, 1}, {.3, 1},   {.3, .3},   {1, .3},   {1, -.3}, {.3, -.3},
              {.3, -1}, {-.3, -1}, {-.3, -.3}, {-1, -.3}, {-1, .3}, {-.3, .3}};
    case 5:
      return heart(4 * detail);
    case 6:
      return moon(2 * detail);
    case 7:
      return {{-1.1, .34}, {1.1, .34}, {1.1, -.34}, {-1.1, -.34}};
    case 8:
      return {{-.8, .95}, {.8, .95}, {.14, 0}, {.8, -.95}, {-.8, -.95}, {-.14, 0}};
    case 9:
      return {{0, 1.1}, {.85, .15}, {.3, .15}, {.3, -1}, {-.3, -1}, {-.3, .15}, {-.85, .15}};
    case 10:
      return polar(5 * detail, [](int, double a) { return 0.75 + 0.32 * std::cos(5 * a); });
    default:
      return {{-.9, .9}, {-.3, .9}, {-.3, -.3}, {.9, -.3}, {.9, -.9}, {-.9, -.9}};
  }
}

}  // namespace shapes
