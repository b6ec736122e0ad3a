#include "image/png_decoder.hpp"

#include "gh/error.hpp"
#include "image/decode.hpp"
#include "image/exif.hpp"

#include <spng.h>

#include <cstring>

namespace gh::host {
namespace {

// For text, profiles and the like, which may be compressed: more is an attack, not a picture.
constexpr std::size_t kMaxChunkBytes = std::size_t{64} << 20;

void check(int result) {
  switch (result) {
    case SPNG_OK:
      return;
    case SPNG_IO_EOF:
    case SPNG_EIDAT_TOO_SHORT:
      fail(ErrorCode::io, "truncated PNG: the data end before the picture does");
    case SPNG_EMEM:
      fail(ErrorCode::out_of_memory, "not enough memory to decode this PNG");
    case SPNG_EWIDTH:
    case SPNG_EHEIGHT:
      fail(ErrorCode::io, "PNG of impossible size: its width or height is 0 or more than 2^31-1");
    case SPNG_EUSER_WIDTH:
    case SPNG_EUSER_HEIGHT:
      fail(ErrorCode::io, "PNG with a side of more pixels than the limit of ",
           ImageDecoder::kMaxPixels, " for all of them");
    case SPNG_ECHUNK_CRC:
      fail(ErrorCode::io, "damaged PNG: the checksum of a chunk does not match");
    case SPNG_ECHUNK_LIMITS:
      fail(ErrorCode::io, "PNG with more text or profiles than the limit of ", kMaxChunkBytes,
           " bytes");
    default:
      fail(ErrorCode::io, "damaged PNG: ", spng_strerror(result));
  }
}

}  // namespace

void PngDecoder::FreeContext::operator()(spng_ctx* context) const { spng_ctx_free(context); }

StoredPicture PngDecoder::open(std::span<const uint8_t> bytes) {
  context_.reset(spng_ctx_new(0));
  if (!context_) check(SPNG_EMEM);
  spng_ctx* context = context_.get();
  check(spng_set_png_buffer(context, bytes.data(), bytes.size()));
  check(spng_set_crc_action(context, SPNG_CRC_ERROR, SPNG_CRC_ERROR));
  check(spng_set_chunk_limits(context, kMaxChunkBytes, kMaxChunkBytes));
  // Their product is the caller's to check; nothing of that size is allocated before read().
  check(spng_set_image_limits(context, ImageDecoder::kMaxPixels, ImageDecoder::kMaxPixels));

  spng_ihdr header{};
  check(spng_get_ihdr(context, &header));
  height_ = static_cast<int>(header.height);
  width_ = static_cast<int>(header.width);

  spng_exif exif{};
  const int found = spng_get_exif(context, &exif);
  if (found == SPNG_ECHUNKAVAIL) return {height_, width_, 1};
  check(found);
  const auto* data = reinterpret_cast<const uint8_t*>(exif.data);
  return {height_, width_, exif_orientation({data, exif.length})};
}

void PngDecoder::read(const Box& box, InterleavedImage& out) {
  const std::size_t whole_bytes = std::size_t{3} * height_ * width_;
  const std::size_t row_bytes = std::size_t{3} * box.width;
  out.height = box.height;
  out.width = box.width;
  out.pixels.resize(row_bytes * box.height);

  const bool straight = out.pixels.size() == whole_bytes;
  if (!straight && whole_.size() < whole_bytes) whole_.resize(whole_bytes);
  uint8_t* whole = straight ? out.pixels.data() : whole_.data();
  // Alpha is dropped and 16 bits lose their low byte; without flags nothing is blended.
  check(spng_decode_image(context_.get(), whole, whole_bytes, SPNG_FMT_RGB8, 0));
  check(spng_decode_chunks(context_.get()));  // to the end: that it is there, and its checksums
  context_.reset();
  if (straight) return;

  const uint8_t* from = whole + 3 * (std::size_t{1} * box.top * width_ + box.left);
  for (int y = 0; y < box.height; ++y)
    std::memcpy(out.pixels.data() + y * row_bytes, from + std::size_t{3} * y * width_, row_bytes);
}

}  // namespace gh::host
