// Compiled once for each set of kernels.
#include "pointwise_kernels.hpp"
#include "vectors.hpp"

#if defined(__AVX2__)
#include "pointwise_loops.hpp"
#endif

namespace gh {
inline namespace v1 {

#if defined(__AVX2__)
GH_COMPILED_KERNELS(PointwiseKernels, kPointwiseLoops)
#else
GH_NO_KERNELS(PointwiseKernels)
#endif

}  // namespace v1
}  // namespace gh
