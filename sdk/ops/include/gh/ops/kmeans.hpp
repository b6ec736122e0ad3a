// K-means on the CPU: Lloyd's algorithm with Euclidean distances or cosines.
//
//   const auto metric = ops::KMeansMetric::euclidean;
//   at::Tensor start = ops::kmeans_start(x, 100, ops::KMeansStart::plus_plus, metric, random);
//   ops::KMeansResult found = ops::kmeans(x, start, {.iterations = 25});
//
// A round gives each row to its nearest centre and moves each centre to the mean of its rows.
// Bounds on distances (Elkan 2003; Ding et al. 2015) say which centres cannot be the nearest;
// they are not looked at, with a margin for rounding, so that labels are those of a search
// through all.
//
// Any thread; calls may overlap. The number of threads changes no bit of a result. Results are on
// the device of `x`: float32 on a CUDA device is computed there if libghops has CUDA kernels
// (docs/devices.md), all else on the CPU. Nothing is differentiated.
#pragma once

#include "gh/export.hpp"
#include "gh/random.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <string_view>

namespace gh {
inline namespace v1 {
namespace ops {

// Values are frozen; new ones are appended.
enum class KMeansMetric : int {
  euclidean = 0,
  // Directions: rows and centres are scaled to unit length, the largest cosine wins. A row of zeros
  // has the cosine 0 with all.
  spherical = 1
};

// As parameters name it: "euclidean" or "spherical".
inline KMeansMetric kmeans_metric(std::string_view name) {
  return name == "spherical" ? KMeansMetric::spherical : KMeansMetric::euclidean;
}

// Values are frozen; new ones are appended.
enum class KMeansStart : int {
  // Greedy k-means++: of 2 + ⌊ln K⌋ rows, drawn with probability proportional to the squared
  // distance to the centres so far, the one that leaves the smallest sum of them. Where all are
  // zero: the first row that is not yet a centre.
  plus_plus = 0,
  // K different rows.
  random = 1
};

struct KMeansOptions {
  KMeansMetric metric = KMeansMetric::euclidean;
  // Rounds, at most; ≥ 1.
  int64_t iterations = 25;
};

struct KMeansResult {
  // [K, D] like x.
  at::Tensor centres;
  // [N] int64: the nearest of these centres, of equal ones the first.
  at::Tensor labels;
  // Σ |x − centre|², or the sum of cosines.
  double objective = 0;
  // Rounds, with the one that found that labels repeat, or that no centre moved.
  int64_t iterations = 0;
};

// x [N, D] float32 or float64, 1 ≤ clusters ≤ N → centres [clusters, D] like x: rows of x, scaled
// to unit length where the metric is spherical. ErrorCode::shape (also of dtypes), invalid_param
// (clusters) and numeric (not finite) name the culprit.
GH_API at::Tensor kmeans_start(const at::Tensor& x, int64_t clusters, KMeansStart start,
                               KMeansMetric metric, Random random);

// x as above, start [K, D] with x's dtype and device, 1 ≤ K ≤ N. Errors as above.
//
// A centre without rows takes the row that is farthest from its own centre, out of the mean of that
// one; of several such centres the first takes the farthest. Where all rows lie on their centres,
// or a centre has lost its only row in this way, it moves to the centre with the most rows. This is
// what scikit-learn does, which leaves open which of several empty centres takes which row.
// Spherical: rows that cancel each other leave their centre where it is.
GH_API KMeansResult kmeans(const at::Tensor& x, const at::Tensor& start,
                           const KMeansOptions& options = {});

}  // namespace ops
}  // namespace v1
}  // namespace gh
