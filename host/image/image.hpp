// Pixels in memory. Decoders give interleaved rows; view operations work on planes, because one
// channel after another is what vector units and tensors want.
#pragma once

#include <cstdint>
#include <vector>

namespace gh::host {

struct Box {
  int top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Box&) const = default;
};

// [height][width][3] uint8, RGB.
struct InterleavedImage {
  int height = 0, width = 0;
  std::vector<uint8_t> pixels;
};

// [3][height][width] uint8, RGB. Keeps its memory when it shrinks.
struct PlanarImage {
  int height = 0, width = 0;
  std::vector<uint8_t> pixels;

  void resize(int new_height, int new_width) {
    height = new_height;
    width = new_width;
    if (pixels.size() < 3 * area()) pixels.resize(3 * area());
  }
  std::size_t area() const { return static_cast<std::size_t>(height) * width; }
  uint8_t* plane(int channel) { return pixels.data() + channel * area(); }
  const uint8_t* plane(int channel) const { return pixels.data() + channel * area(); }
};

}  // namespace gh::host
