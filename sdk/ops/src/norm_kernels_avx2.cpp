// The same kernels, compiled with -mavx2 -mfma.
#include "norm_loops.hpp"

namespace gh {
inline namespace v1 {

#if defined(__AVX2__) && defined(__FMA__)
namespace {
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
}  // namespace

template <>
const NormKernels<float>* avx2_norm_kernels() {
  return has_avx2() ? &kNormLoops<float> : nullptr;
}
template <>
const NormKernels<double>* avx2_norm_kernels() {
  return has_avx2() ? &kNormLoops<double> : nullptr;
}
#else
template <>
const NormKernels<float>* avx2_norm_kernels() {
  return nullptr;
}
template <>
const NormKernels<double>* avx2_norm_kernels() {
  return nullptr;
}
#endif

}  // namespace v1
}  // namespace gh
