// The same kernels, compiled with -mavx2 -mfma.
#include "linear_loops.hpp"

namespace gh {
inline namespace v1 {

#if defined(__AVX2__) && defined(__FMA__)
namespace {
template <class T>
const LinearKernels<T>* loops() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kLinearLoops<T>
                                                                         : nullptr;
}
}  // namespace
#else
namespace {
template <class T>
const LinearKernels<T>* loops() {
  return nullptr;
}
}  // namespace
#endif

template <>
const LinearKernels<float>* avx2_linear_kernels() {
  return loops<float>();
}
template <>
const LinearKernels<double>* avx2_linear_kernels() {
  return loops<double>();
}

}  // namespace v1
}  // namespace gh
