// Compiled once for each set of kernels.
#include "linear_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_FAMILY(Linear)

}  // namespace v1
}  // namespace gh
