// The same kernels, compiled with -mavx2 -mfma.
#include "nearest_loops.hpp"

namespace gh {
inline namespace v1 {
namespace {

template <class T>
const NearestKernels<T>* loops() {
#if defined(__AVX2__) && defined(__FMA__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &kNearestLoops<Single, T>;
#endif
  return nullptr;
}

}  // namespace

template <>
const NearestKernels<float>* avx2_nearest_kernels() {
  return loops<float>();
}
template <>
const NearestKernels<double>* avx2_nearest_kernels() {
  return loops<double>();
}

}  // namespace v1
}  // namespace gh
