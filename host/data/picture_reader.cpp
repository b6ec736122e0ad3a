#include "data/picture_reader.hpp"

#include "data/unreadable.hpp"

#include "gh/error.hpp"

namespace gh::host {

const InterleavedImage& PictureReader::read(const SampleSet& set, int64_t index) {
  picture_.height = picture_.width = 0;
  set.read(index, *this);
  if (picture_.height == 0)
    fail(ErrorCode::internal, set.label(index), ": the data set handed over no sample");
  return picture_;
}

const InterleavedImage& PictureReader::read_or_skip(const SampleSet& set, int64_t& index,
                                                    bool skip_unreadable) {
  index = first_readable(
      index, set.size(), skip_unreadable, [&](int64_t i) { read(set, i); }, [](const Error&) {});
  return picture_;
}

void PictureReader::vector(std::span<const float>) {
  fail(ErrorCode::shape, "a vector among pictures");
}

void PictureReader::pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
                           int64_t channels) {
  expect_pixels(values, height, width, channels);
  picture_.height = static_cast<int>(height);
  picture_.width = static_cast<int>(width);
  picture_.pixels.clear();
  for (const uint8_t value : values)
    picture_.pixels.insert(picture_.pixels.end(), channels == 1 ? 3 : 1, value);
}

void PictureReader::encoded(std::span<const uint8_t> bytes, std::string_view origin) {
  try {
    const ImageSize size = decoder_.open(bytes);
    decoder_.read({0, 0, size.height, size.width}, picture_);
  } catch (const Error& error) {
    fail(error.code(), origin, ": ", error.what());
  }
}

}  // namespace gh::host
