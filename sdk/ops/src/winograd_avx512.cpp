// The loops of Winograd's convolutions, compiled with -mavx512f -mavx2 -mfma.
#if defined(__AVX512F__)
#include "winograd_loops.hpp"

namespace gh {
inline namespace v1 {

const WinogradKernels* avx512_winograd(WinogradKind kind) {
  if (!(__builtin_cpu_supports("avx512f"))) return nullptr;
  return loops_for(kind);
}

}  // namespace v1
}  // namespace gh
#else
#include "winograd_kernels.hpp"

namespace gh {
inline namespace v1 {

const WinogradKernels* avx512_winograd(WinogradKind) { return nullptr; }

}  // namespace v1
}  // namespace gh
#endif
