// The kernels for every processor.
#include "nearest_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const NearestKernels<float>* portable_nearest_kernels() {
  return &kNearestLoops<Single, float>;
}
template <>
const NearestKernels<double>* portable_nearest_kernels() {
  return &kNearestLoops<Single, double>;
}

}  // namespace v1
}  // namespace gh
