#include "report/study_statistics.hpp"

#include "gh/random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace gh::host;

namespace {

// The test as it is defined: every one of the 2ⁿ signings.
double brute_force_p(const std::vector<double>& differences) {
  const std::size_t all = std::size_t{1} << differences.size();
  const auto sum_of = [&](std::size_t signs) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i)
      sum += signs >> i & 1 ? -differences[i] : differences[i];
    return std::abs(sum);
  };
  std::size_t extreme = 0;
  for (std::size_t signs = 0; signs < all; ++signs) extreme += sum_of(signs) >= sum_of(0) - 1e-9;
  return static_cast<double>(extreme) / static_cast<double>(all);
}

// Holm's correction as what it is, a closed test: a hypothesis falls when every set of hypotheses
// that holds it falls by Bonferroni.
std::vector<double> closed_test(const std::vector<double>& p) {
  std::vector<double> out(p.size(), 0);
  for (std::size_t set = 1; set < std::size_t{1} << p.size(); ++set) {
    double least = 1, size = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (set >> i & 1) {
        least = std::min(least, p[i]);
        ++size;
      }
    for (std::size_t i = 0; i < p.size(); ++i)
      if (set >> i & 1) out[i] = std::max(out[i], std::min(1.0, size * least));
  }
  return out;
}

// Quantile `share` of the means of all nⁿ ways to draw n values, each equally likely.
double exact_quantile(const std::vector<double>& values, double share) {
  const std::size_t n = values.size();
  std::vector<double> means;
  for (std::size_t code = 0; code < static_cast<std::size_t>(std::pow(n, n)); ++code) {
    double sum = 0;
    for (std::size_t i = 0, rest = code; i < n; ++i, rest /= n) sum += values[rest % n];
    means.push_back(sum / static_cast<double>(n));
  }
  std::sort(means.begin(), means.end());
  return means[static_cast<std::size_t>(share * static_cast<double>(means.size()))];
}

}  // namespace

TEST_CASE("mean and sample deviation, and neither of nothing") {
  const Sample three = mean_and_deviation(std::array{60.0, 61.0, 65.0});
  CHECK(three.n == 3);
  CHECK(*three.mean == Approx(62));
  CHECK(*three.deviation == Approx(std::sqrt(7.0)));
  CHECK(*mean_and_deviation(std::array{5.0}).mean == 5);
  CHECK_FALSE(mean_and_deviation(std::array{5.0}).deviation);
  CHECK_FALSE(mean_and_deviation({}).mean);
}

TEST_CASE("the sign-flip test counts every signing") {
  gh::Random random(gh::stream_key(0, "sign flips"));
  for (std::size_t n = 1; n <= 11; ++n)
    for (int round = 0; round < 8; ++round) {
      std::vector<double> differences;
      // Whole numbers half of the time: equal sums must count.
      for (std::size_t i = 0; i < n; ++i)
        differences.push_back(round % 2 ? random.normal() + 0.5
                                        : static_cast<double>(random.below(7)) - 2);
      INFO(n << " differences, round " << round);
      CHECK(*sign_flip_p(differences) == Approx(brute_force_p(differences)));
    }
}

TEST_CASE("the least p is 2 / 2ⁿ, where all differences point one way") {
  for (std::size_t n = 1; n <= 40; ++n) {
    const std::vector<double> same(n, -0.3);
    CHECK(*sign_flip_p(same) == Approx(std::min(1.0, std::pow(2.0, 1.0 - n))));
    CHECK(least_p(n) == *sign_flip_p(same));
  }
  CHECK(*sign_flip_p(std::array{0.1, 0.2, 0.3}) == 0.25);
  CHECK(*sign_flip_p(std::array{0.0, 0.0}) == 1);
  CHECK_FALSE(sign_flip_p({}));
  CHECK_FALSE(sign_flip_p(std::vector<double>(41, 1.0)));
  CHECK_FALSE(sign_flip_p(std::array{1.0, std::numeric_limits<double>::quiet_NaN()}));
}

TEST_CASE("the seeds that significance takes") {
  // m · 2 / 2ⁿ < 0.05.
  CHECK(pairs_needed(1) == 6);
  CHECK(pairs_needed(4) == 8);
  CHECK(pairs_needed(100) == 12);
}

TEST_CASE("Holm's correction of a textbook's four values") {
  // 0.005·4, 0.01·3, 0.03·2, and 0.04·1, which is no less than the one before.
  const std::vector<double> adjusted = holm(std::array{0.01, 0.04, 0.03, 0.005});
  CHECK(adjusted[0] == Approx(0.03));
  CHECK(adjusted[1] == Approx(0.06));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[3] == Approx(0.02));
  CHECK(holm({}).empty());
  CHECK(holm(std::array{0.4, 0.9})[1] == Approx(0.9));
}

TEST_CASE("Holm's correction is the closed test of Bonferroni's") {
  gh::Random random(gh::stream_key(0, "holm"));
  for (int round = 0; round < 40; ++round) {
    std::vector<double> p;
    for (int64_t i = 0; i <= random.below(8); ++i)
      p.push_back(round % 2 ? random.uniform() * random.uniform()
                            : 0.125 * static_cast<double>(1 + random.below(8)));
    const std::vector<double> found = holm(p), expected = closed_test(p);
    for (std::size_t i = 0; i < p.size(); ++i) CHECK(found[i] == Approx(expected[i]));
  }
}

TEST_CASE("bootstrap intervals lie where those of all resamples do") {
  gh::Random random(gh::stream_key(0, "bootstrap"));
  for (std::size_t n = 2; n <= 6; ++n) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(random.normal());
    const Interval found = *Bootstrap("a study", "few").mean(values);
    INFO(n << " values");
    // 10,000 draws are off by 0.16 % in the share below; three times that and a bit.
    CHECK(found.low >= exact_quantile(values, 0.020) - 1e-12);
    CHECK(found.low <= exact_quantile(values, 0.030) + 1e-12);
    CHECK(found.high >= exact_quantile(values, 0.970) - 1e-12);
    CHECK(found.high <= exact_quantile(values, 0.980) + 1e-12);
  }
  CHECK_FALSE(Bootstrap("a study", "few").mean(std::array{1.0}));
}

TEST_CASE("bootstrap draws depend on study, metric and the number of values, and on nothing else") {
  const std::array a = {0.3, 1.1, -0.2, 0.8, 0.5, 0.9, -0.7},
                   b = {5.0, 1.0, 2.0, 2.5, 4.0, 0.0, 3.0};
  Bootstrap first("a study", "few");
  const Interval alone = *first.mean(a);
  first.mean(b);
  first.mean(std::array{1.0, 2.0});
  const Interval again = *first.mean(a), same = *Bootstrap("a study", "few").mean(a);
  CHECK((again.low == alone.low && again.high == alone.high));
  CHECK((same.low == alone.low && same.high == alone.high));
  const Interval other = *Bootstrap("a study", "many").mean(a);
  CHECK((other.low != alone.low || other.high != alone.high));
  const Interval elsewhere = *Bootstrap("another", "few").mean(a);
  CHECK((elsewhere.low != alone.low || elsewhere.high != alone.high));
}
