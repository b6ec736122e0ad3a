// The one thing we want from EXIF: which way up the picture is shown.
#pragma once

#include <cstdint>
#include <span>

namespace gh::host {

// `tiff` is the block that begins with "II" or "MM": a JPEG's APP1 segment after "Exif\0\0", or a
// PNG's eXIf chunk. Gives 1 … 8; anything missing, broken or out of range is 1, never an error.
int exif_orientation(std::span<const uint8_t> tiff);

}  // namespace gh::host
