// What the momentum table says about the surrogate labels: how many points they use, how they agree
// with the classes, how far the prior is from uniform and from the class sizes.
#pragma once

#include "gh/ops/agreement.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace gh::host {

struct Divergence {
  double kl = 0;               // Kullback–Leibler, nats
  double total_variation = 0;  // half the sum of differences, 0 … 1
};

struct SurrogateStatistics {
  int64_t points = 0;
  int64_t dead = 0;          // points without a sample
  double effective = 0;      // exp of the entropy of the shares: as many equal points
  double largest_share = 0;  // of the samples, at one point
  Divergence prior_from_uniform;

  // Where there are classes.
  bool has_classes = false;
  ops::Agreement agreement;  // of the samples' points with their classes
  // Points have no classes of their own: shares and class sizes are compared largest to largest,
  // each with half a sample added.
  Divergence prior_from_classes;
  // 1 − ‖mean of the unit rows of its samples‖, by class: 0 when all point the same way. NaN for
  // classes with fewer than two seen samples.
  std::vector<double> class_spread;
  std::vector<int64_t> class_sizes;
  std::vector<std::size_t> classes_by_size() const;  // largest first

  // Means of class_spread over the larger and the smaller third of the classes.
  double head_spread() const;
  double tail_spread() const;
};

// `table` [N, K] float32, `labels` [N] its largest entries (−1: never seen), `counts` [K] of them,
// `prior` [K] float64, `classes` [N] int64 or undefined.
SurrogateStatistics measure_surrogates(const at::Tensor& table, const at::Tensor& labels,
                                       const at::Tensor& counts, const at::Tensor& prior,
                                       const at::Tensor& classes);

// Each number under its name in metrics.jsonl.
void log_statistics(const SurrogateStatistics& statistics,
                    const std::function<void(std::string_view name, double value)>& log);

}  // namespace gh::host
