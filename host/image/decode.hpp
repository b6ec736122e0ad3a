// JPEG (libjpeg-turbo) and PNG (libspng) files into 8-bit RGB, whole or a rectangle of them.
//
//   ImageDecoder decoder;                            // one a thread; keeps its buffers
//   const ImageSize size = decoder.open(bytes);      // header only
//   decoder.read({top, left, height, width}, out);   // the same pixels as in a decoded whole
//
// Pictures come as a viewer shows them: EXIF orientation applied, grayscale and palettes widened
// to RGB, CMYK and YCCK converted, alpha dropped, 16-bit channels reduced to their high byte.
#pragma once

#include "image/image.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace gh::host {

struct ImageSize {
  int height = 0, width = 0;  // as shown, after orientation
};

class ImageDecoder {
 public:
  // Files with more pixels than this are refused: a header of a few bytes can ask for gigabytes.
  static constexpr int64_t kMaxPixels = 178'956'970;  // where Pillow draws the line

  ImageDecoder();
  ~ImageDecoder();

  // Reads the header. `bytes` must outlive the read() that follows. Throws gh::Error (io) with what
  // is wrong: empty, not an image, an unsupported format and which, truncated, too large, … The
  // message reads well after "cat.jpg: ".
  ImageSize open(std::span<const uint8_t> bytes);
  // Decodes `box`, which must lie inside the picture, of the file opened last. Once per open().
  // Throws gh::Error (io) on damaged data, as far as the box needs them, or (out_of_memory); `out`
  // is then unspecified.
  void read(const Box& box, InterleavedImage& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gh::host
