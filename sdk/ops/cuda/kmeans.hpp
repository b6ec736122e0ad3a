// Lloyd's algorithm on a CUDA device; what it computes is said in gh/ops/kmeans.hpp. Plain pointers
// to device memory, float32 rows.
//
// Rows are summed in double, in an order that depends on their number only: the same input gives
// the same bits on the same kind of device. The host waits for the device once a round.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace gh {
inline namespace v1 {
namespace cuda {

enum class KMeansMetric { euclidean, spherical };

struct KMeansProblem {
  const float* x;  // [rows, width]; unit rows, or zeros, for spherical
  int rows, width, clusters;
  KMeansMetric metric;
  int iterations;  // at most
  float* centres;  // [clusters, width] in: the start, unit rows for spherical; out: the centres
  int* labels;     // [rows] out: of the centres that come out
};

struct KMeansOutcome {
  double objective;
  int64_t iterations;
};

// Aligned to 16; contents do not matter.
size_t kmeans_workspace(int rows, int width, int clusters);

cudaError_t kmeans(const KMeansProblem& problem, void* workspace, cudaStream_t stream,
                   KMeansOutcome* outcome);

}  // namespace cuda
}  // namespace v1
}  // namespace gh
