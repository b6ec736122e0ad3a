// The loops of Sinkhorn's iteration, compiled with -mavx512f -mavx2 -mfma.
#if defined(__AVX512F__)
#include "sinkhorn_loops.hpp"

namespace gh {
inline namespace v1 {
namespace {
bool supported() { return __builtin_cpu_supports("avx512f"); }
}  // namespace

template <>
const SinkhornKernels<float>* avx512_sinkhorn() {
  return supported() ? &kSinkhornLoops<float> : nullptr;
}
template <>
const SinkhornKernels<double>* avx512_sinkhorn() {
  return supported() ? &kSinkhornLoops<double> : nullptr;
}

}  // namespace v1
}  // namespace gh
#else
#include "sinkhorn_kernels.hpp"

namespace gh {
inline namespace v1 {

template <>
const SinkhornKernels<float>* avx512_sinkhorn() {
  return nullptr;
}
template <>
const SinkhornKernels<double>* avx512_sinkhorn() {
  return nullptr;
}

}  // namespace v1
}  // namespace gh
#endif
