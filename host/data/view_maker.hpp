// The views of a sample: a pure function of seed, epoch, sample and view number, and of the
// sample's weight where boosted operations read it. Batches are therefore the same in whatever
// order, by however many threads they are made.
#pragma once

#include "data/sample_set.hpp"
#include "data/view_plan.hpp"
#include "data/view_renderer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace gh::host {

enum class ViewFormat {
  floats,  // normalised float32: what a network on the CPU takes
  bytes,   // uint8: a quarter of the bytes to carry to a device, which normalises there
};

// One a thread.
class ViewMaker final : private SampleSink {
 public:
  // Makes the first `views` of the plan's views. Set and plan outlive the maker.
  ViewMaker(const SampleSet& set, const ViewPlan& plan, uint64_t seed, int64_t views,
            ViewFormat format);

  // Writes view v of the sample to out[v], which takes one view of its shape: float32, or uint8 for
  // pictures in ViewFormat::bytes. Throws gh::Error naming split, sample and file.
  void make(int64_t index, int64_t epoch, double weight, std::span<void* const> out);

  // What was drawn for the last picture, one a view.
  std::span<const ViewDraw> draws() const { return draws_; }

 private:
  void vector(std::span<const float> values) override;
  void pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
              int64_t channels) override;
  void encoded(std::span<const uint8_t> bytes, std::string_view origin) override;

  Random random_for(int64_t view) const;
  void add_noise(const float* values, std::size_t n);
  Box draw(const ImageSize& picture);
  void render(const Columns& part, int top, int left);

  const SampleSet& set_;
  const ViewPlan& plan_;
  uint64_t seed_;
  ViewFormat format_;
  std::vector<const ViewGroup*> groups_;  // of each view
  ImageDecoder decoder_;
  ViewRenderer renderer_;
  InterleavedImage decoded_;
  std::vector<uint8_t> columns_;
  std::vector<ViewDraw> draws_;

  // The sample being made.
  int64_t index_ = 0;
  uint64_t key_ = 0;
  double weight_ = 0;
  std::span<void* const> out_;
  bool made_ = false;
};

}  // namespace gh::host
