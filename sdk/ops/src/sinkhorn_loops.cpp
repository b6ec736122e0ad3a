// Compiled once for each set of kernels.
#include "sinkhorn_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_KERNELS(SinkhornKernels<float>, kSinkhornLoops<float>)
GH_COMPILED_KERNELS(SinkhornKernels<double>, kSinkhornLoops<double>)

}  // namespace v1
}  // namespace gh
