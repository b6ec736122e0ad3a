// Compiled once for each set of kernels.
#include "contrastive_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_KERNELS(ContrastiveKernels<float>, kContrastiveLoops<float>)
GH_COMPILED_KERNELS(ContrastiveKernels<double>, kContrastiveLoops<double>)

}  // namespace v1
}  // namespace gh
