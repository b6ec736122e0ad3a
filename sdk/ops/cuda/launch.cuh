// What the kernels of this directory share. They are CUDA for nvcc and, with the emulator's
// <cuda_runtime.h>, C++ for the tests.
#pragma once

#include <cuda_runtime.h>

namespace gh {
inline namespace v1 {
namespace cuda {

constexpr unsigned kAllLanes = 0xffffffff;

// The dynamic shared memory of the block.
template <class T>
__device__ T* dynamic_shared() {
#ifdef GH_CUDA_EMULATOR
  return static_cast<T*>(emulator::machine.shared());
#else
  extern __shared__ __align__(16) unsigned char gh_shared[];
  return reinterpret_cast<T*>(gh_shared);
#endif
}

// Sum over `kWidth` neighbouring lanes, in all of them, in one fixed order.
template <int kWidth, class T>
__device__ T sum_over_lanes(T value) {
#pragma unroll
  for (int step = kWidth / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

template <class... Expected, class... Given>
cudaError_t launch(void (*kernel)(Expected...), dim3 grid, dim3 block, size_t shared_bytes,
                   cudaStream_t stream, Given... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace cuda
}  // namespace v1
}  // namespace gh

// Leaves the function with the error of a call to the runtime.
#define GH_CUDA_TRY(call) \
  if (const cudaError_t gh_error = (call); gh_error != cudaSuccess) return gh_error
