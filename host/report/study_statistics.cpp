#include "report/study_statistics.hpp"

#include "gh/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gh::host {
namespace {

constexpr std::size_t kMostDrawn = 255;  // counts of draws are bytes

// The sums of all signings of `values`, ascending.
std::vector<double> signed_sums(std::span<const double> values) {
  std::vector<double> sums = {0};
  for (const double value : values) {
    std::vector<double> more;
    more.reserve(2 * sums.size());
    // Two ascending lists, merged: no sorting of 2ⁿ values.
    const double step = std::abs(value);
    std::size_t low = 0;
    for (const double sum : sums) {
      while (low < sums.size() && sums[low] + step < sum - step) more.push_back(sums[low++] + step);
      more.push_back(sum - step);
    }
    while (low < sums.size()) more.push_back(sums[low++] + step);
    sums = std::move(more);
  }
  return sums;
}

}  // namespace

Sample mean_and_deviation(std::span<const double> values) {
  Sample out{values.size(), {}, {}};
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  out.mean = mean;
  if (values.size() > 1) out.deviation = std::sqrt(squares / (n - 1));
  return out;
}

Bootstrap::Bootstrap(std::string_view study, std::string_view metric)
    : key_(stream_key(stream_key(0, study), metric)) {}

const std::vector<uint8_t>& Bootstrap::draws(std::size_t n) {
  if (draws_.size() <= n) draws_.resize(n + 1);
  std::vector<uint8_t>& drawn = draws_[n];
  if (!drawn.empty()) return drawn;
  drawn.assign(n * kResamples, 0);
  Random random(key_, n);
  for (std::size_t row = 0; row < kResamples; ++row)
    for (std::size_t i = 0; i < n; ++i)
      ++drawn[row * n + static_cast<std::size_t>(random.below(static_cast<int64_t>(n)))];
  return drawn;
}

std::optional<Interval> Bootstrap::mean(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 2 || n > kMostDrawn) return std::nullopt;
  const std::vector<uint8_t>& drawn = draws(n);
  std::vector<double> means(kResamples, 0);
  for (std::size_t row = 0; row < kResamples; ++row) {
    for (std::size_t i = 0; i < n; ++i) means[row] += drawn[row * n + i] * values[i];
    means[row] /= static_cast<double>(n);
  }
  // Of 10,000 means the 250th from below and from above.
  constexpr std::size_t kTail = kResamples / 40;
  const auto at = [&](std::size_t k) {
    const auto it = means.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(means.begin(), it, means.end());
    return *it;
  };
  const double low = at(kTail - 1), high = at(kResamples - kTail);
  return Interval{low, high};
}

std::optional<double> sign_flip_p(std::span<const double> differences) {
  const std::size_t n = differences.size();
  if (n == 0 || n > kMostPairs) return std::nullopt;
  double observed = 0, magnitude = 0;
  for (const double d : differences) {
    observed += d;
    magnitude += std::abs(d);
  }
  if (!std::isfinite(magnitude)) return std::nullopt;
  // Sums that are equal but for rounding count as equal.
  const double bound = std::abs(observed) - 1e-12 * magnitude;
  if (bound <= 0) return 1;
  // Every sum is one of a half's plus one of the other's: with both ascending, the sums of at least
  // `bound` are counted in one pass. Those of at most −bound are as many.
  const std::vector<double> left = signed_sums(differences.first(n / 2));
  const std::vector<double> right = signed_sums(differences.subspan(n / 2));
  double extreme = 0;
  std::size_t from = right.size();  // right[from] is the first that is large enough
  for (const double sum : left) {
    while (from > 0 && sum + right[from - 1] >= bound) --from;
    extreme += static_cast<double>(right.size() - from);
  }
  return 2 * extreme / std::pow(2.0, n);
}

double least_p(std::size_t pairs) { return std::min(1.0, 2 / std::pow(2.0, pairs)); }

std::size_t pairs_needed(std::size_t tests) {
  std::size_t pairs = 1;
  while (static_cast<double>(std::max<std::size_t>(tests, 1)) * least_p(pairs) >= kSignificant)
    ++pairs;
  return pairs;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size());
  double before = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const double scaled = p[order[k]] * static_cast<double>(p.size() - k);
    before = std::max(before, std::min(1.0, scaled));
    out[order[k]] = before;
  }
  return out;
}

}  // namespace gh::host
