// Compiled once for each set of kernels.
#include "kmeans_loops.hpp"

namespace gh {
inline namespace v1 {

GH_COMPILED_KERNELS(KMeansKernels<float>, kKMeansLoops<float>)
GH_COMPILED_KERNELS(KMeansKernels<double>, kKMeansLoops<double>)

}  // namespace v1
}  // namespace gh
