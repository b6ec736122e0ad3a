// Compiled once for each set of kernels.
#include "contrastive_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const ContrastiveKernels<float>* compiled_kernels<ContrastiveKernels<float>, kThisSet>() {
  return if_compiled(kContrastiveLoops<float>);
}
template <>
const ContrastiveKernels<double>* compiled_kernels<ContrastiveKernels<double>, kThisSet>() {
  return if_compiled(kContrastiveLoops<double>);
}

}  // namespace v1
}  // namespace gh
