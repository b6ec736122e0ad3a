// The loops of 1×1 convolutions, compiled with -mavx512f -mavx2 -mfma.
#if defined(__AVX512F__)
#include "pointwise_loops.hpp"

namespace gh {
inline namespace v1 {

const PointwiseKernels* avx512_pointwise() {
  return !__builtin_cpu_supports("avx512f") ? nullptr : &kPointwiseLoops;
}

}  // namespace v1
}  // namespace gh
#else
#include "pointwise_kernels.hpp"

namespace gh {
inline namespace v1 {

const PointwiseKernels* avx512_pointwise() { return nullptr; }

}  // namespace v1
}  // namespace gh
#endif
