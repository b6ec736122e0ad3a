// Edges are smooth because coverage comes from the signed distance to the outline: a pixel whose
// centre is half a pixel inside is all foreground, half a pixel outside all background.
#include "drawing.hpp"

#include "outlines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace shapes {
namespace {

using std::numbers::pi;

struct Edge {
  float x, y;     // where it begins, in pixels
  float dx, dy;   // to where it ends
  float inverse;  // of the squared length
};

using Colour = std::array<float, 3>;

// `light` is the mean of the channels; `hue` an angle.
Colour colour(double light, double saturation, double hue) {
  Colour c;
  for (std::size_t k = 0; k < 3; ++k)
    c[k] = static_cast<float>(light +
                              saturation * std::cos(hue - 2 * pi * static_cast<double>(k) / 3));
  return c;
}

// Runs from one colour to another across the picture.
struct Gradient {
  Colour from, to;
  float x, y, offset;  // what a pixel right or down adds to the share of `to`; that at (0, 0)

  Colour at(float px, float py) const {
    const float share = std::clamp(offset + x * px + y * py, 0.0F, 1.0F);
    Colour c;
    for (std::size_t k = 0; k < 3; ++k) c[k] = from[k] + share * (to[k] - from[k]);
    return c;
  }
};

Gradient random_gradient(gh::Random& random, double light, double saturation, double size) {
  const double hue = random.uniform(0, 2 * pi), angle = random.uniform(0, 2 * pi);
  const double tilt = random.uniform(-0.12, 0.12);
  const double x = std::cos(angle) / size, y = std::sin(angle) / size;
  return {colour(light - tilt, saturation, hue),
          colour(light + tilt, saturation, hue + random.uniform(-0.9, 0.9)), static_cast<float>(x),
          static_cast<float>(y), static_cast<float>(0.5 - (x + y) * size / 2)};
}

// The shape at a random place, size, turn and aspect, in pixels.
struct Placed {
  std::vector<Edge> edges;
  float reach = 0;  // from its centre to the farthest corner
};

Placed place(std::span<const Point> outline, gh::Random& random, double size) {
  // First of all draws: radius_of() relies on it.
  const double radius = size * random.uniform(kSmallestRadius, kLargestRadius);
  const double turn = random.uniform(-0.6, 0.6);
  const double aspect = random.uniform(0.85, 1.18), free = size / 2 - 0.95 * radius;
  const double cx = size / 2 + free * random.uniform(-1, 1);
  const double cy = size / 2 + free * random.uniform(-1, 1);
  const auto to_pixels = [&](Point p) {
    const double x = p.x * aspect * radius, y = p.y / aspect * radius;
    return Point{cx + x * std::cos(turn) - y * std::sin(turn),
                 cy - x * std::sin(turn) - y * std::cos(turn)};
  };
  Placed placed;
  Point from = to_pixels(outline.back());
  for (const Point& corner : outline) {
    const Point to = to_pixels(corner);
    const double dx = to.x - from.x, dy = to.y - from.y;
    placed.edges.push_back({static_cast<float>(from.x), static_cast<float>(from.y),
                            static_cast<float>(dx), static_cast<float>(dy),
                            static_cast<float>(1 / (dx * dx + dy * dy))});
    placed.reach = std::max(placed.reach, static_cast<float>(std::hypot(to.x - cx, to.y - cy)));
    from = to;
  }
  return placed;
}

// Negative inside; in pixels.
float signed_distance(const std::vector<Edge>& edges, float px, float py) {
  float nearest = 1e30F;
  bool inside = false;
  for (const Edge& e : edges) {
    const float wx = px - e.x, wy = py - e.y;
    const float t = std::min(1.0F, std::max(0.0F, (wx * e.dx + wy * e.dy) * e.inverse));
    const float bx = wx - t * e.dx, by = wy - t * e.dy;
    nearest = std::min(nearest, bx * bx + by * by);
    // Whether a ray to the right crosses the edge; without branches, which would be guesses.
    const bool spans = (wy >= 0) != (wy >= e.dy);
    inside ^= spans & ((wx * e.dy < wy * e.dx) == (e.dy > 0));
  }
  return inside ? -std::sqrt(nearest) : std::sqrt(nearest);
}

// Distance to what is painted: the shape, or a band inside its outline.
float painted_distance(const Placed& shape, Fill fill, float px, float py) {
  const float distance = signed_distance(shape.edges, px, py);
  if (fill == Fill::solid) return distance;
  const float half = std::max(0.5F, 0.09F * shape.reach);
  return std::abs(distance + half) - half;
}

struct Wave {
  float x, y, phase, height;
  float at(float px, float py) const { return height * std::sin(x * px + y * py + phase); }
};

Wave random_wave(gh::Random& random, double size) {
  const double angle = random.uniform(0, 2 * pi), turns = 2 * pi * random.uniform(1, 4) / size;
  const double phase = random.uniform(0, 2 * pi), height = random.uniform(0, 0.07);
  return {static_cast<float>(turns * std::cos(angle)), static_cast<float>(turns * std::sin(angle)),
          static_cast<float>(phase), static_cast<float>(height)};
}

}  // namespace

double radius_of(gh::Random random) { return random.uniform(kSmallestRadius, kLargestRadius); }

void draw(std::size_t shape, Fill fill, gh::Random random, int64_t size,
          std::span<uint8_t> pixels) {
  const double side = static_cast<double>(size);
  const Placed placed = place(outline(shape, size <= 64 ? 6 : 12), random, side);
  // Light on dark or dark on light, never too close to see.
  const double behind = random.uniform(0.25, 0.75), gap = random.uniform(0.28, 0.45);
  const double before = behind < 0.5 ? behind + gap : behind - gap;
  const Gradient background = random_gradient(random, behind, random.uniform(0.05, 0.25), side);
  const Gradient foreground = random_gradient(random, before, random.uniform(0.15, 0.4), side);
  const Wave wave = random_wave(random, side);
  const float noise = static_cast<float>(random.uniform(0.0, 0.08));

  uint8_t* out = pixels.data();
  for (int64_t row = 0; row < size; ++row) {
    const float y = static_cast<float>(row) + 0.5F;
    float share = 0, settled = 0;  // the share of foreground is known to the left of `settled`
    for (int64_t column = 0; column < size; ++column) {
      const float x = static_cast<float>(column) + 0.5F;
      if (x >= settled) {
        const float distance = painted_distance(placed, fill, x, y);
        share = std::clamp(0.5F - distance, 0.0F, 1.0F);
        settled = x + std::abs(distance) - 0.5F;  // a step changes the distance by one at most
      }
      const Colour back = background.at(x, y), front = foreground.at(x, y);
      const float ripple = wave.at(x, y);
      uint32_t grains = random.bits32();
      for (std::size_t k = 0; k < 3; ++k, grains >>= 8) {
        const float grain = noise * (static_cast<float>(grains & 255) / 127.5F - 1);
        const float value = (1 - share) * (back[k] + ripple) + share * front[k] + grain;
        *out++ = static_cast<uint8_t>(std::clamp(255 * value + 0.5F, 0.0F, 255.0F));
      }
    }
  }
}

}  // namespace shapes
