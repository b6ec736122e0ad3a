// What may be said of a few seeds: means, paired differences, and how far chance explains them.
// docs/studies.md tells readers of tables what each number means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gh::host {

inline constexpr double kSignificant = 0.05;
inline constexpr int kResamples = 10'000;
// A sign-flip test of more pairs is not computed: it looks at all 2ⁿ signs, half of them at a time.
inline constexpr std::size_t kMostPairs = 40;

struct Sample {
  std::size_t n = 0;
  std::optional<double> mean;       // of at least one
  std::optional<double> deviation;  // sample standard deviation (n − 1), of at least two
};
Sample mean_and_deviation(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};

// Bootstrap intervals of means, 95 %, by percentiles of kResamples means of values drawn with
// replacement. The draws depend on `study`, `metric` and the number of values alone: the same
// values give the same interval, whatever stands beside them.
class Bootstrap {
 public:
  Bootstrap(std::string_view study, std::string_view metric);
  // nullopt of fewer than two values.
  std::optional<Interval> mean(std::span<const double> values);

 private:
  // Of `n` values, how often each is drawn: kResamples rows of n.
  const std::vector<uint8_t>& draws(std::size_t n);

  uint64_t key_;
  std::vector<std::vector<uint8_t>> draws_;  // by n; empty: not drawn yet
};

// Exact two-sided test of paired differences: the share of the 2ⁿ ways to sign them whose mean is
// at least as far from 0 as that of the differences themselves. It supposes that without an effect
// a difference is as likely as its negative, and no more; no value is below 2 / 2ⁿ. nullopt of no
// differences, of more than kMostPairs, and of what is not finite.
std::optional<double> sign_flip_p(std::span<const double> differences);

// The least p that the test can give for n ≥ 1 pairs.
double least_p(std::size_t pairs);

// The pairs it takes until one of `tests` differences can be significant after Holm's correction.
std::size_t pairs_needed(std::size_t tests);

// Holm's step-down correction of p values of one family, in their order: the k-th smallest of m
// times (m − k + 1), none below one before it, at most 1.
std::vector<double> holm(std::span<const double> p);

}  // namespace gh::host
