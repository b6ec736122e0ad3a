// Gaussian blur as Pillow approximates it: three box filters of fractional radius in each
// direction, bit for bit.
#pragma once

#include "image/image.hpp"

#include <vector>

namespace gh::host {

// One a thread: it keeps working memory.
class GaussianBlur {
 public:
  // `sigma` in pixels; 0 leaves the image as it is.
  void run(PlanarImage& image, double sigma);

 private:
  std::vector<uint8_t> a_, b_;
};

}  // namespace gh::host
