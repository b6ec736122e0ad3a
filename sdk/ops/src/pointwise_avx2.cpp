// The loops of 1×1 convolutions, compiled with -mavx2 -mfma.
#if defined(__AVX2__) && defined(__FMA__)
#include "pointwise_loops.hpp"

namespace gh {
inline namespace v1 {

const PointwiseKernels* avx2_pointwise() {
  return !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) ? nullptr
                                                                            : &kPointwiseLoops;
}

}  // namespace v1
}  // namespace gh
#else
#include "pointwise_kernels.hpp"

namespace gh {
inline namespace v1 {

const PointwiseKernels* avx2_pointwise() { return nullptr; }

}  // namespace v1
}  // namespace gh
#endif
