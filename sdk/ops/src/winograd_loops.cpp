// Compiled once for each set of kernels.
#include "vectors.hpp"
#include "winograd_kernels.hpp"

#if defined(__AVX2__)
#include "winograd_loops.hpp"
#endif

namespace gh {
inline namespace v1 {

#if defined(__AVX2__)
GH_COMPILED_KERNELS(WinogradFamily, kWinogradLoops)
#else
GH_NO_KERNELS(WinogradFamily)
#endif

}  // namespace v1
}  // namespace gh
