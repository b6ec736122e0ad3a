// Factors of symmetric matrices whose bits do not depend on threads, as LAPACK's would.
#pragma once

#include <ATen/core/Tensor.h>

namespace gh {
inline namespace v1 {

// a · bᵀ with our own kernels.
at::Tensor linear_product(const at::Tensor& a, const at::Tensor& b);

// matrix = lower · lowerᵀ, float64.
struct LinearFactor {
  at::Tensor lower, inverse;
};
// A pivot that rounding has left too small becomes `least`: this is for a preconditioner.
LinearFactor factorise(const at::Tensor& matrix, double least);

}  // namespace v1
}  // namespace gh
