// What `ghhost data check` finds out about a split: reads and decodes every sample.
#pragma once

#include "data/sample_set.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gh::host {

struct DataFindings {
  std::vector<std::string> unreadable;  // file and reason, in the order of samples
  // Of the readable pictures; 0 for vectors.
  int smallest_side = 0, largest_side = 0;
  double mean_pixels = 0;
};

// `progress` is called now and then, from the calling thread, with the number of samples read.
DataFindings read_everything(const SampleSet& set, int threads,
                             const std::function<void(int64_t)>& progress);

// Class sizes ([C] int64) as a chart of some twenty lines: largest class first, many classes in
// groups of neighbours in size.
std::string class_histogram(const at::Tensor& counts, const std::vector<std::string>& names);

}  // namespace gh::host
