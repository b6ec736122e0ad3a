// Whole pictures of a set, as they are before views are made of them.
#pragma once

#include "data/sample_set.hpp"
#include "image/decode.hpp"

namespace gh::host {

// One a thread.
class PictureReader final : private SampleSink {
 public:
  // Decodes the whole sample; valid until the next call. Throws gh::Error naming the file.
  const InterleavedImage& read(const SampleSet& set, int64_t index);
  // The same; where unreadable ones are skipped, of the sample that the loader would take in its
  // place, whose index `index` becomes.
  const InterleavedImage& read_or_skip(const SampleSet& set, int64_t& index, bool skip_unreadable);

 private:
  void vector(std::span<const float> values) override;
  void pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
              int64_t channels) override;
  void encoded(std::span<const uint8_t> bytes, std::string_view origin) override;

  ImageDecoder decoder_;
  InterleavedImage picture_;
};

}  // namespace gh::host
