// The same kernels with images in bfloat16, compiled with -mavx512bf16 -mavx512f -mavx2 -mfma.
#include "nearest_loops.hpp"

namespace gh {
inline namespace v1 {
namespace {

template <class T>
const NearestKernels<T>* loops() {
#if defined(__AVX512BF16__)
  if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512f"))
    return &kNearestLoops<Brain, T>;
#endif
  return nullptr;
}

}  // namespace

template <>
const NearestKernels<float>* bfloat_nearest_kernels() {
  return loops<float>();
}
template <>
const NearestKernels<double>* bfloat_nearest_kernels() {
  return loops<double>();
}

}  // namespace v1
}  // namespace gh
