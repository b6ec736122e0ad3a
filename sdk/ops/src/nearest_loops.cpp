// Compiled once for each set of kernels.
#include "nearest_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_KERNELS(NearestKernels<float>, kNearestLoops<ImageOf<kThisSet>, float>)
GH_COMPILED_KERNELS(NearestKernels<double>, kNearestLoops<ImageOf<kThisSet>, double>)

}  // namespace v1
}  // namespace gh
