// Compiled once for each set of kernels.
#include "contrastive_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_FAMILY(Contrastive)

}  // namespace v1
}  // namespace gh
