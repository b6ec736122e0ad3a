// The loops of Sinkhorn's iteration for every processor.
#include "sinkhorn_loops.hpp"

namespace gh {
inline namespace v1 {

template <>
const SinkhornKernels<float>* portable_sinkhorn() {
  return &kSinkhornLoops<float>;
}
template <>
const SinkhornKernels<double>* portable_sinkhorn() {
  return &kSinkhornLoops<double>;
}

}  // namespace v1
}  // namespace gh
