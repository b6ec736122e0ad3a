// Compiled once for each set of kernels.
#include "kmeans_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_FAMILY(KMeans)

}  // namespace v1
}  // namespace gh
