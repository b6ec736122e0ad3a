// Priors that do not follow the training: from the class sizes, or from a file.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <filesystem>

namespace gh::host {

// [points] float64 that sums to 1: share k ∝ (size of class k)^(1/temperature); points beyond the
// classes get none. Throws gh::Error (invalid_param) when there are fewer points than classes.
at::Tensor oracle_prior(const at::Tensor& class_counts, int64_t points, double temperature);

// [points] float64 that sums to 1, from a JSON list or from numbers separated by white space.
// Entries may be zero. Throws gh::Error: io when the file cannot be read, invalid_param when it
// holds something else, another number of entries, negative ones or nothing but zeros.
at::Tensor read_prior(const std::filesystem::path& file, int64_t points);

}  // namespace gh::host
