// The same kernels, compiled with -mavx2 -mfma.
#include "kmeans_loops.hpp"

namespace gh {
inline namespace v1 {

#if defined(__AVX2__) && defined(__FMA__)
namespace {
template <class T>
const KMeansKernels<T>* loops() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kKMeansLoops<T>
                                                                         : nullptr;
}
}  // namespace
#else
namespace {
template <class T>
const KMeansKernels<T>* loops() {
  return nullptr;
}
}  // namespace
#endif

template <>
const KMeansKernels<float>* avx2_kmeans_kernels() {
  return loops<float>();
}
template <>
const KMeansKernels<double>* avx2_kmeans_kernels() {
  return loops<double>();
}

}  // namespace v1
}  // namespace gh
