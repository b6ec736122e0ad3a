// Compiled once for each set of kernels.
#include "norm_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_KERNELS(NormKernels<float>, kNormLoops<float>)
GH_COMPILED_KERNELS(NormKernels<double>, kNormLoops<double>)

}  // namespace v1
}  // namespace gh
