// Compiled once for each set of kernels.
#include "sinkhorn_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const SinkhornKernels<float>* compiled_kernels<SinkhornKernels<float>, kThisSet>() {
  return if_compiled(kSinkhornLoops<float>);
}
template <>
const SinkhornKernels<double>* compiled_kernels<SinkhornKernels<double>, kThisSet>() {
  return if_compiled(kSinkhornLoops<double>);
}

}  // namespace v1
}  // namespace gh
