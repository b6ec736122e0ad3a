// Compiled once for each set of kernels.
#include "norm_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_FAMILY(Norm)

}  // namespace v1
}  // namespace gh
