// Compiled once for each set of kernels.
#include "linear_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_KERNELS(LinearKernels<float>, kLinearLoops<float>)
GH_COMPILED_KERNELS(LinearKernels<double>, kLinearLoops<double>)

}  // namespace v1
}  // namespace gh
