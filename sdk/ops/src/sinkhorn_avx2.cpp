// The loops of Sinkhorn's iteration, compiled with -mavx2 -mfma.
#if defined(__AVX2__) && defined(__FMA__)
#include "sinkhorn_loops.hpp"

namespace gh {
inline namespace v1 {
namespace {
bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
}  // namespace

template <>
const SinkhornKernels<float>* avx2_sinkhorn() {
  return supported() ? &kSinkhornLoops<float> : nullptr;
}
template <>
const SinkhornKernels<double>* avx2_sinkhorn() {
  return supported() ? &kSinkhornLoops<double> : nullptr;
}

}  // namespace v1
}  // namespace gh
#else
#include "sinkhorn_kernels.hpp"

namespace gh {
inline namespace v1 {

template <>
const SinkhornKernels<float>* avx2_sinkhorn() {
  return nullptr;
}
template <>
const SinkhornKernels<double>* avx2_sinkhorn() {
  return nullptr;
}

}  // namespace v1
}  // namespace gh
#endif
