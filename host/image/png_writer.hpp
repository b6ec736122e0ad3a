// PNG files for pages that show pictures.
#pragma once

#include "image/image.hpp"

#include <string>

namespace gh::host {

// The picture as the bytes of a PNG file, 8-bit RGB.
std::string encode_png(const InterleavedImage& image);

}  // namespace gh::host
