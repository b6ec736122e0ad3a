// Colour operations on planes, bit for bit as torchvision and Pillow compute them on 8-bit images:
// each rounds to uint8 before the next.
#pragma once

#include "image/image.hpp"

namespace gh::host {

// Each blends with a grey picture: black, the rounded mean luma, every pixel's own luma. A factor
// of 1 is the identity.
void adjust_brightness(PlanarImage& image, double factor);
void adjust_contrast(PlanarImage& image, double factor);
void adjust_saturation(PlanarImage& image, double factor);
// `factor` in −½ … ½ turns the hue by that part of a circle.
void adjust_hue(PlanarImage& image, double factor);
void make_grey(PlanarImage& image);
// Inverts values at or above the threshold, 0 … 256.
void solarize(PlanarImage& image, int threshold);

}  // namespace gh::host
