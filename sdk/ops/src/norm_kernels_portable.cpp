// The kernels for every processor.
#include "norm_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const NormKernels<float>* portable_norm_kernels() {
  return &kNormLoops<float>;
}
template <>
const NormKernels<double>* portable_norm_kernels() {
  return &kNormLoops<double>;
}

}  // namespace v1
}  // namespace gh
