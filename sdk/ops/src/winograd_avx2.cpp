// The loops of Winograd's convolutions, compiled with -mavx2 -mfma.
#if defined(__AVX2__) && defined(__FMA__)
#include "winograd_loops.hpp"

namespace gh {
inline namespace v1 {

const WinogradKernels* avx2_winograd(WinogradKind kind) {
  if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return nullptr;
  return loops_for(kind);
}

}  // namespace v1
}  // namespace gh
#else
#include "winograd_kernels.hpp"

namespace gh {
inline namespace v1 {

const WinogradKernels* avx2_winograd(WinogradKind) { return nullptr; }

}  // namespace v1
}  // namespace gh
#endif
