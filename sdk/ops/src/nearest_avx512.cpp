// The same kernels, compiled with -mavx512f -mavx2 -mfma.
#include "nearest_loops.hpp"

namespace gh {
inline namespace v1 {
namespace {

template <class T>
const NearestKernels<T>* loops() {
#if defined(__AVX512F__)
  if (__builtin_cpu_supports("avx512f")) return &kNearestLoops<Single, T>;
#endif
  return nullptr;
}

}  // namespace

template <>
const NearestKernels<float>* avx512_nearest_kernels() {
  return loops<float>();
}
template <>
const NearestKernels<double>* avx512_nearest_kernels() {
  return loops<double>();
}

}  // namespace v1
}  // namespace gh
