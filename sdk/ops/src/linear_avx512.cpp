// The same kernels, compiled with -mavx512f -mavx2 -mfma.
#include "linear_loops.hpp"

namespace gh {
inline namespace v1 {

#if defined(__AVX512F__)
namespace {
template <class T>
const LinearKernels<T>* loops() {
  return __builtin_cpu_supports("avx512f") != 0 ? &kLinearLoops<T> : nullptr;
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
const LinearKernels<float>* avx512_linear_kernels() {
  return loops<float>();
}
template <>
const LinearKernels<double>* avx512_linear_kernels() {
  return loops<double>();
}

}  // namespace v1
}  // namespace gh
