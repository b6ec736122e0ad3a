// Compiled once for each set of kernels.
#include "kmeans_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const KMeansKernels<float>* compiled_kernels<KMeansKernels<float>, kThisSet>() {
  return if_compiled(kKMeansLoops<float>);
}
template <>
const KMeansKernels<double>* compiled_kernels<KMeansKernels<double>, kThisSet>() {
  return if_compiled(kKMeansLoops<double>);
}

}  // namespace v1
}  // namespace gh
