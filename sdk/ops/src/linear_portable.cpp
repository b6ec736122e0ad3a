// The kernels for every processor.
#include "linear_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const LinearKernels<float>* portable_linear_kernels() {
  return &kLinearLoops<float>;
}
template <>
const LinearKernels<double>* portable_linear_kernels() {
  return &kLinearLoops<double>;
}

}  // namespace v1
}  // namespace gh
