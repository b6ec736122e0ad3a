// A labelled set of small pictures, made up: class c is brightest in its c-th quarter of the rows.
#pragma once

#include "gh/dataset.hpp"
#include "gh/random.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <string>
#include <vector>

namespace gh::testing {

class TinyPictures final : public Dataset {
 public:
  static constexpr int64_t kClasses = 4;

  // `samples` of each split, side × side pixels of three channels.
  explicit TinyPictures(int64_t samples = 32, int64_t side = 8) : samples_(samples), side_(side) {}

  std::vector<std::string> splits() const override { return {"train", "test"}; }
  std::unique_ptr<Split> open(std::string_view split, uint64_t seed) const override {
    return std::make_unique<Pictures>(samples_, side_, stream_key(seed, split));
  }
  // Samples as the networks of a test take them: [n, 3, side, side] float32 in 0 … 1.
  at::Tensor batch(std::string_view split = "train", uint64_t seed = 0) const;

 private:
  class Pictures final : public Split {
   public:
    Pictures(int64_t samples, int64_t side, uint64_t key)
        : samples_(samples), side_(side), key_(key) {}
    int64_t size() const override { return samples_; }
    TargetKind target_kind() const override { return TargetKind::classes; }
    at::Tensor targets() const override {
      return at::arange(samples_, at::kLong).remainder(kClasses);
    }
    std::vector<std::string> class_names() const override {
      return {"top", "high", "low", "bottom"};
    }
    std::vector<int64_t> sample_shape() const override { return {3, side_, side_}; }
    void read(int64_t index, SampleSink& sink) const override {
      Random random(key_, static_cast<uint64_t>(index));
      std::vector<uint8_t> pixels(static_cast<std::size_t>(side_ * side_ * 3));
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) / (3 * side_);
        const bool bright = row * kClasses / side_ == index % kClasses;
        pixels[i] = static_cast<uint8_t>(random.uniform(0, 64) + (bright ? 160 : 0));
      }
      sink.pixels(pixels, side_, side_, 3);
    }
    std::string fingerprint() const override { return "tiny-" + std::to_string(key_); }

   private:
    int64_t samples_, side_;
    uint64_t key_;
  };
  int64_t samples_, side_;
};

inline at::Tensor TinyPictures::batch(std::string_view split, uint64_t seed) const {
  struct Stacked final : SampleSink {
    at::Tensor out;
    int64_t at = 0;
    void vector(std::span<const float>) override {}
    void encoded(std::span<const uint8_t>, std::string_view) override {}
    void pixels(std::span<const uint8_t> values, int64_t h, int64_t w, int64_t c) override {
      float* const to = out.mutable_data_ptr<float>() + at++ * h * w * c;
      for (int64_t i = 0; i < h * w; ++i)
        for (int64_t k = 0; k < c; ++k)
          to[k * h * w + i] = static_cast<float>(values[static_cast<std::size_t>(i * c + k)]) / 255;
    }
  } sink;
  sink.out = at::empty({samples_, 3, side_, side_}, at::kFloat);
  const auto pictures = open(split, seed);
  for (int64_t i = 0; i < samples_; ++i) pictures->read(i, sink);
  return sink.out;
}

}  // namespace gh::testing
