// The kernels for every processor.
#include "kmeans_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const KMeansKernels<float>* portable_kmeans_kernels() {
  return &kKMeansLoops<float>;
}
template <>
const KMeansKernels<double>* portable_kmeans_kernels() {
  return &kKMeansLoops<double>;
}

}  // namespace v1
}  // namespace gh
