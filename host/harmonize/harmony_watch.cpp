#include "harmonize/harmony_watch.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gh::host {
namespace {

constexpr double kFewPoints = 0.1;  // of the points beyond the first
constexpr double kResidual = 0.01;  // of the samples, at one point
constexpr double kFallen = 0.9;     // of the first epoch's
constexpr int64_t kEpochsToFall = 5;

}  // namespace

std::string coverage_warning(int64_t points, int64_t batch) {
  if (points <= batch) return {};
  return fmt::format(
      "{} points and {} samples a batch: not every point can have a sample, so targets are spread "
      "over several points; raise train.batch or lower the number of points",
      points, batch);
}

std::vector<std::string> HarmonyWatch::look(const SurrogateStatistics& statistics,
                                            double residual) {
  std::vector<std::string> out;
  ++epochs_;
  const double few = 1 + kFewPoints * static_cast<double>(statistics.points - 1);
  if (!told_collapse_ && statistics.effective < few) {
    told_collapse_ = true;
    out.push_back(fmt::format(
        "the samples collapse to few points: as good as {:.1f} of {} are used, {:.0f} % of the "
        "samples lean to one; a longer warm-up, a smaller harmonize.weight or a floor of the prior "
        "may help",
        statistics.effective, statistics.points, 100 * statistics.largest_share));
  }
  if (std::isnan(first_residual_)) first_residual_ = residual;
  if (!told_residual_ && epochs_ > kEpochsToFall && residual > kResidual &&
      residual > kFallen * first_residual_) {
    told_residual_ = true;
    out.push_back(fmt::format(
        "the allocation misses its prior by {:.3f} of the samples at one point and does not get "
        "better; more iterations or a larger epsilon of the allocator may help",
        residual));
  }
  return out;
}

}  // namespace gh::host
