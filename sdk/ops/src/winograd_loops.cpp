// Compiled once for each set of kernels; intrinsics need at least AVX2.
#if defined(__AVX2__) && defined(__FMA__)
#include "winograd_loops.hpp"
#else
#include "winograd_kernels.hpp"
#endif

namespace gh {
inline namespace v1 {

template <>
const WinogradFamily* compiled_kernels<WinogradFamily, KernelSet::GH_KERNEL_SET>() {
#if defined(__AVX2__) && defined(__FMA__)
  return if_compiled(kWinogradLoops);
#else
  return nullptr;
#endif
}

}  // namespace v1
}  // namespace gh
