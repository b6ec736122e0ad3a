#include "schedules.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gh::probe {
namespace {

constexpr double kFurther = 1.1;

double sum(const std::vector<double>& rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

std::vector<double> gh_rates(int64_t epochs, double first) {
  std::vector<double> rates;
  for (int64_t e = 0; e < epochs; ++e)
    rates.push_back(first * std::pow(1e-4, static_cast<double>(e) / static_cast<double>(epochs)));
  return rates;
}

std::vector<double> sdclr_rates(int64_t epochs, double first, bool few_shot) {
  const double drop = few_shot ? 0.4 : 1.0 / 3, again = few_shot ? 0.6 : 2.0 / 3;
  std::vector<double> rates;
  for (int64_t e = 0; e < epochs; ++e) {
    const double done = static_cast<double>(e) / static_cast<double>(epochs);
    const int drops = (done >= drop - 1e-9) + (done >= again - 1e-9);
    rates.push_back(first * std::pow(0.1, drops));
  }
  return rates;
}

// The same way in 58 epochs instead of 500. Adam's steps are about as long as the rate, so that the
// sum of rates says how far it goes; the second half of gh's epochs adds a hundredth to it. Here
// the sum is spent at one rate, but for four epochs that calm the weights. kFurther is measured,
// not derived: the higher the rate, the less far the same sum went, and much higher rates end
// elsewhere where an epoch has few steps. docs/evaluation.md has the numbers.
std::vector<double> fast_rates(const std::vector<double>& gh) {
  std::vector<double> falling;
  for (int e = 1; e <= 4; ++e) falling.push_back(gh[0] * std::pow(3, -e));
  const double far = sum(gh);
  const double level = (far - sum(falling)) / gh[0];
  std::vector<double> rates(static_cast<std::size_t>(std::max(1.0, std::round(level))), gh[0]);
  rates.insert(rates.end(), falling.begin(), falling.end());
  const double times = kFurther * far / sum(rates);
  for (double& rate : rates) rate *= times;
  return rates;
}

}  // namespace gh::probe
