// PNG through libspng. A picture is always decoded whole: each row needs the one above it.
#pragma once

#include "image/picture_format.hpp"

#include <memory>

struct spng_ctx;

namespace gh::host {

class PngDecoder final : public PictureFormat {
 public:
  StoredPicture open(std::span<const uint8_t> bytes) override;
  void read(const Box& box, InterleavedImage& out) override;

 private:
  struct FreeContext {
    void operator()(spng_ctx* context) const;
  };

  std::unique_ptr<spng_ctx, FreeContext> context_;  // libspng's serve one file each
  int height_ = 0, width_ = 0;
  std::vector<uint8_t> whole_;  // the picture that a smaller box is cut from
};

}  // namespace gh::host
