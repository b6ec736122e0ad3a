// Compiled once for each set of kernels.
#include "linear_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const LinearKernels<float>* compiled_kernels<LinearKernels<float>, kThisSet>() {
  return if_compiled(kLinearLoops<float>);
}
template <>
const LinearKernels<double>* compiled_kernels<LinearKernels<double>, kThisSet>() {
  return if_compiled(kLinearLoops<double>);
}

}  // namespace v1
}  // namespace gh
