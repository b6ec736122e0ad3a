// The same kernels, compiled with -mavx512f -mavx2 -mfma.
#include "kmeans_loops.hpp"

namespace gh {
inline namespace v1 {

#if defined(__AVX512F__)
namespace {
template <class T>
const KMeansKernels<T>* loops() {
  return __builtin_cpu_supports("avx512f") != 0 ? &kKMeansLoops<T> : nullptr;
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
const KMeansKernels<float>* avx512_kmeans_kernels() {
  return loops<float>();
}
template <>
const KMeansKernels<double>* avx512_kmeans_kernels() {
  return loops<double>();
}

}  // namespace v1
}  // namespace gh
