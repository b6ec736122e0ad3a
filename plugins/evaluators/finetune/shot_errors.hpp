// Errors of a regression by how many training samples lie where the target lies, as deep imbalanced
// regression reports them (Yang et al. 2021).
#pragma once

#include "gh/class_groups.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tuning {

// Where one error is exactly zero the geometric mean would be zero whatever the others are.
inline constexpr double kLeastError = 1e-6;

struct ErrorMeans {
  int64_t samples = 0;
  double mean = 0;            // of |error|; NaN without samples
  double geometric_mean = 0;  // of max(|error|, kLeastError); NaN without samples
};

struct ShotErrors {
  struct Bin {
    double value;  // the target values that round to it
    int64_t trained, tested;
    double mean;  // of |error|; NaN where none was tested
  };
  ErrorMeans all;
  std::vector<std::string> names;  // of the groups, largest training counts first
  std::vector<ErrorMeans> groups;  // over the samples of each group
  std::string definition;
  std::vector<Bin> bins;  // ascending
};

// Targets are rounded to multiples of `bin`; what rounds to one value is a "class" for `rule`
// (gh::class_groups without lists). `trained` [n], `tested` and `predicted` [m], all float64, CPU,
// contiguous; m ≥ 1.
ShotErrors shot_errors(std::string_view rule, double bin, const at::Tensor& trained,
                       const at::Tensor& tested, const at::Tensor& predicted);

}  // namespace tuning
