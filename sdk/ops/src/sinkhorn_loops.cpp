// Compiled once for each set of kernels.
#include "sinkhorn_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_FAMILY(Sinkhorn)

}  // namespace v1
}  // namespace gh
