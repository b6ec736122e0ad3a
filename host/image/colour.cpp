#include "image/colour.hpp"

#include "image/kernels.hpp"

#include <algorithm>

namespace gh::host {

void adjust_brightness(PlanarImage& image, double factor) {
  kernels().blend(image.plane(0), 3 * image.area(), 0, static_cast<float>(factor));
}

void adjust_contrast(PlanarImage& image, double factor) {
  const uint64_t sum =
      kernels().luma_sum(image.plane(0), image.plane(1), image.plane(2), image.area());
  const int grey = static_cast<int>(static_cast<double>(sum) / image.area() + 0.5);
  kernels().blend(image.plane(0), 3 * image.area(), grey, static_cast<float>(factor));
}

void adjust_saturation(PlanarImage& image, double factor) {
  kernels().saturate(image.plane(0), image.plane(1), image.plane(2), image.area(),
                     static_cast<float>(factor));
}

void adjust_hue(PlanarImage& image, double factor) {
  // A negative number of steps is taken modulo 256, as uint8 wraps.
  const int steps = static_cast<int>(factor * 255) & 255;
  kernels().turn_hue(image.plane(0), image.plane(1), image.plane(2), image.area(), steps);
}

void make_grey(PlanarImage& image) {
  kernels().luma(image.plane(0), image.plane(1), image.plane(2), image.area(), image.plane(0));
  for (int c = 1; c < 3; ++c) std::copy_n(image.plane(0), image.area(), image.plane(c));
}

void solarize(PlanarImage& image, int threshold) {
  kernels().solarize(image.plane(0), 3 * image.area(), threshold);
}

}  // namespace gh::host
