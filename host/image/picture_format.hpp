// What decode.cpp asks of each file format. Pictures are as the file stores them, before EXIF
// orientation. Used only inside this room.
#pragma once

#include "image/image.hpp"

#include <cstdint>
#include <span>

namespace gh::host {

struct StoredPicture {
  int height = 0, width = 0;
  int orientation = 1;  // EXIF, 1 … 8
};

class PictureFormat {
 public:
  virtual ~PictureFormat() = default;

  // Reads the header; the contract of ImageDecoder::open().
  virtual StoredPicture open(std::span<const uint8_t> bytes) = 0;
  // Decodes `box`, in stored coordinates and inside the picture; the contract of
  // ImageDecoder::read().
  virtual void read(const Box& box, InterleavedImage& out) = 0;
};

}  // namespace gh::host
