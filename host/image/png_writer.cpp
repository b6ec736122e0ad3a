#include "image/png_writer.hpp"

#include "gh/error.hpp"

#include <spng.h>

#include <cstdlib>
#include <memory>

namespace gh::host {
namespace {

void check(int result) {
  require(result == SPNG_OK, result == SPNG_EMEM ? ErrorCode::out_of_memory : ErrorCode::internal,
          "writing a PNG: ", spng_strerror(result));
}

}  // namespace

std::string encode_png(const InterleavedImage& image) {
  const std::size_t bytes = std::size_t{3} * image.height * image.width;
  require(image.height > 0 && image.width > 0 && image.pixels.size() >= bytes, ErrorCode::internal,
          "writing a PNG: ", image.pixels.size(), " bytes of pixels for ", image.height, "×",
          image.width);

  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(spng_ctx_new(SPNG_CTX_ENCODER),
                                                                    &spng_ctx_free);
  if (!context) check(SPNG_EMEM);
  check(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
  spng_ihdr header{};
  header.height = static_cast<uint32_t>(image.height);
  header.width = static_cast<uint32_t>(image.width);
  header.bit_depth = 8;
  header.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
  check(spng_set_ihdr(context.get(), &header));
  check(spng_encode_image(context.get(), image.pixels.data(), bytes, SPNG_FMT_PNG,
                          SPNG_ENCODE_FINALIZE));

  std::size_t length = 0;
  int result = SPNG_OK;
  const std::unique_ptr<void, decltype(&std::free)> file(
      spng_get_png_buffer(context.get(), &length, &result), &std::free);
  check(result);
  return std::string(static_cast<const char*>(file.get()), length);
}

}  // namespace gh::host
