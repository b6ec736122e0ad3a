// How rare samples are among the others, seen without labels: weights by the inverse of a kernel
// density of their features.
#pragma once

#include "gh/random.hpp"
#include "gh/rows.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gh::parts {

struct DensityOptions {
  // Of the Gaussian kernel, in units of the root mean squared distance between two samples: as
  // sharp for features that lie close together as for others.
  double bandwidth = 0.25;
  // Of density in the weight, at most 2; 0: all weigh the same.
  double exponent = 1.0;
  // Added to each density, as a share of their mean: the rarest sample's weight stays below
  // (1 + 1/floor)^exponent times that of an average one.
  double floor = 0.1;
  // Samples drawn to measure the density at all; where there are fewer, all of them.
  int64_t references = 4096;
};

// Features [N, d] float32 or float64 of any length, N ≥ 2 → weights [N] of mean 1. With unit rows x
// and σ² their mean squared distance, at sample i over references j ≠ i:
//   p_i = mean_j exp(−|x_i − x_j|² / (2·bandwidth²·σ²))        w_i ∝ (p_i + floor·mean p)^−exponent
inline at::Tensor inverse_density(const at::Tensor& features, const DensityOptions& options,
                                  Random random) {
  constexpr int64_t kRowsAtOnce = 1024;
  const at::NoGradGuard no_grad;
  const int64_t count = features.size(0);
  const at::Tensor unit = unit_rows(features);
  const at::Tensor x = unit - unit.mean(0, /*keepdim=*/true);  // as far apart, but with more digits
  const at::Tensor squares = x.square().sum(1);
  const at::Tensor chosen =
      random.permutation(count).narrow(0, 0, std::min(options.references, count)).to(x.device());
  const at::Tensor references = x.index_select(0, chosen), there = squares.index_select(0, chosen);
  const at::Tensor variance = 2 * squares.mean();
  const at::Tensor sharpness =
      -1 / (2 * options.bandwidth * options.bandwidth * variance).clamp_min(1e-30);
  std::vector<at::Tensor> densities;
  for (int64_t begin = 0; begin < count; begin += kRowsAtOnce) {
    const int64_t rows = std::min(kRowsAtOnce, count - begin);
    const at::Tensor own = x.narrow(0, begin, rows);
    const at::Tensor distances = squares.narrow(0, begin, rows).unsqueeze(1) + there.unsqueeze(0) -
                                 2 * own.matmul(references.t());
    const at::Tensor self =
        (chosen - begin).unsqueeze(1).eq(at::arange(rows, chosen.options())).t();
    const at::Tensor kernel = (distances.clamp_min(0) * sharpness).exp().masked_fill(self, 0);
    densities.push_back(kernel.sum(1) / (chosen.size(0) - self.sum(1)).clamp_min(1));
  }
  const at::Tensor p = at::cat(densities).to(at::kDouble);
  // Where no kernel reaches another sample all are as rare.
  const at::Tensor weights =
      (p + options.floor * p.mean()).clamp_min(1e-100).pow(-options.exponent);
  return (weights / weights.mean()).to(features.scalar_type());
}

}  // namespace gh::parts
