// Compiled once for each set of kernels.
#include "norm_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const NormKernels<float>* compiled_kernels<NormKernels<float>, kThisSet>() {
  return if_compiled(kNormLoops<float>);
}
template <>
const NormKernels<double>* compiled_kernels<NormKernels<double>, kThisSet>() {
  return if_compiled(kNormLoops<double>);
}

}  // namespace v1
}  // namespace gh
