// Any bytes: the decoder gives a picture or a gh::Error, and a box has the pixels of the whole.
#include "gh/error.hpp"
#include "image/decode.hpp"
#include "support/sample_images.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

using namespace gh::host;
using namespace gh::test;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

namespace {

constexpr int64_t kPixels = 1 << 15;  // larger pictures only take longer

// Right checksums, so that damage inside chunks gets past them.
Bytes repaired(Bytes file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t length = static_cast<std::size_t>(file[at]) << 24 | file[at + 1] << 16 |
                               file[at + 2] << 8 | file[at + 3];
    if (length > file.size() - at - 12) break;
    Bytes checksum;
    append_u32(checksum, png_checksum(file.data() + at + 4, length + 4));
    std::copy(checksum.begin(), checksum.end(), file.data() + at + 8 + length);
    at += 12 + length;
  }
  return file;
}

bool read(ImageDecoder& decoder, const Bytes& file, const Box* box, InterleavedImage& out) {
  try {
    const ImageSize size = decoder.open(file);
    if (int64_t{size.height} * size.width > kPixels) return false;
    decoder.read(box ? *box : Box{0, 0, size.height, size.width}, out);
    return true;
  } catch (const gh::Error& error) {
    if (error.code() != gh::ErrorCode::io || std::strlen(error.what()) == 0) std::abort();
    return false;
  }
}

void check(const Bytes& file) {
  ImageDecoder decoder;
  InterleavedImage whole, part;
  if (!read(decoder, file, nullptr, whole)) return;
  NumberSource numbers(png_checksum(file.data(), file.size()));
  for (int i = 0; i < 2; ++i) {
    Box box;
    box.height = 1 + numbers.below(whole.height);
    box.width = 1 + numbers.below(whole.width);
    box.top = numbers.below(whole.height - box.height + 1);
    box.left = numbers.below(whole.width - box.width + 1);
    if (!read(decoder, file, &box, part)) std::abort();  // a part of what was right is wrong
    const std::size_t row = std::size_t{3} * box.width;
    for (int y = 0; y < box.height; ++y) {
      const std::size_t from = 3 * (std::size_t{1} * (box.top + y) * whole.width + box.left);
      if (std::memcmp(&part.pixels[y * row], &whole.pixels[from], row) != 0) std::abort();
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const Bytes file(data, data + size);
  check(file);
  if (size > 8 && std::memcmp(data, "\x89PNG", 4) == 0) {
    const Bytes right = repaired(file);
    if (right != file) check(right);
  }
  return 0;
}
