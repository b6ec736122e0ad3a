// Compiled once for each set of kernels.
#include "nearest_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const NearestKernels<float>* compiled_kernels<NearestKernels<float>, kThisSet>() {
  return if_compiled(kNearestLoops<ImageOf<kThisSet>, float>);
}
template <>
const NearestKernels<double>* compiled_kernels<NearestKernels<double>, kThisSet>() {
  return if_compiled(kNearestLoops<ImageOf<kThisSet>, double>);
}

}  // namespace v1
}  // namespace gh
