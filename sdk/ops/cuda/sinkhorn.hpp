// Sinkhorn's iterations on a CUDA device; what they compute is said in gh/ops/sinkhorn.hpp. Plain
// pointers to device memory, float32 matrices.
//
// Every sum has a fixed order: the same input gives the same bits on the same kind of device.
// Nothing waits for the device; errors are those of the launches.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gh {
inline namespace v1 {
namespace cuda {

struct SinkhornSettings {
  double epsilon;
  int iterations;     // the most
  double tolerance;   // 0: all iterations
  double relaxation;  // 1: plain
};

// Written on the device.
struct SinkhornReport {
  double change;
  double residual;
  int64_t iterations;
};

struct SinkhornCase {
  const float* logits;  // [rows, columns]
  const float* prior;   // [columns], sums to 1
  float* targets;       // [rows, columns]; not the logits
  SinkhornReport* report;
  double* trace;  // [iterations] change of each, or null
  int rows, columns;
  float middle;  // of the smallest and the largest logit; the log domain does not read it
};

// Whether one block holds a matrix in its registers and its shared memory.
bool sinkhorn_fits_block(int rows, int columns, size_t shared_limit);

// Solves cases that fit, each in one block, all iterations in one launch (of up to 16 cases).
// exp((logits − middle)/ε) must be far from the limits of float32.
cudaError_t sinkhorn_in_blocks(std::span<const SinkhornCase> cases,
                               const SinkhornSettings& settings, size_t shared_limit,
                               cudaStream_t stream);

// Any size, matrix in device memory, three launches an iteration: at the sizes that need it an
// iteration takes longer than its launches, and no block ever waits for another one. After the
// tolerance is met the launches that are left return at once. workspace: sinkhorn_workspace()
// bytes, aligned to 8, contents do not matter.
enum class SinkhornScale { linear, log };
size_t sinkhorn_workspace(int rows, int columns);
cudaError_t sinkhorn_in_grid(const SinkhornCase& problem, const SinkhornSettings& settings,
                             SinkhornScale scale, void* workspace, cudaStream_t stream);

// The opt-in limit of the current device.
cudaError_t shared_memory_limit(size_t* bytes);

}  // namespace cuda
}  // namespace v1
}  // namespace gh
