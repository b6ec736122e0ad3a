// Real views of a few samples, to look at what the network sees.
#pragma once

#include "data/sample_set.hpp"
#include "data/view_plan.hpp"
#include "image/image.hpp"

#include <string>
#include <vector>

namespace gh::host {

struct PreviewRow {
  std::string caption;
  std::string original;            // PNG, made smaller if large
  std::vector<std::string> views;  // PNG each: every view of the first epoch, then of the second, …
};

// As PNG, made smaller if a side is longer than `side` pixels.
std::string png_within(const InterleavedImage& picture, int side);

// Samples from the largest class to the smallest, or spread over a set without classes. `weight` is
// what boosted operations take for every sample; `skip_unreadable` has the next one stand in for a
// sample that cannot be read.
struct PreviewPlan {
  int64_t samples = 0, epochs = 0;
  double weight = 0;
  bool skip_unreadable = false;
};
std::vector<PreviewRow> preview_rows(const SampleSet& set, const ViewPlan& plan, uint64_t seed,
                                     const PreviewPlan& wanted);

}  // namespace gh::host
