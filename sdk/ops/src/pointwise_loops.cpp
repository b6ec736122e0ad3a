// Compiled once for each set of kernels; intrinsics need at least AVX2.
#if defined(__AVX2__) && defined(__FMA__)
#include "pointwise_loops.hpp"
#else
#include "pointwise_kernels.hpp"
#endif

namespace gh {
inline namespace v1 {

template <>
const PointwiseKernels* compiled_kernels<PointwiseKernels, KernelSet::GH_KERNEL_SET>() {
#if defined(__AVX2__) && defined(__FMA__)
  return if_compiled(kPointwiseLoops);
#else
  return nullptr;
#endif
}

}  // namespace v1
}  // namespace gh
