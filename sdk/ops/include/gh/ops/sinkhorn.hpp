// Optimal transport of samples onto points, by alternating scaling (Cuturi 2013).
//
//   const SinkhornProblem views[] = {{logits1, prior}, {logits2, prior}};
//   const auto results = gh::ops::sinkhorn(views, {.epsilon = 0.05, .iterations = 300});
//
// With G = exp(logits/ε) and c = 1/N, every iteration is
//   r ← π ⊘ (Gᵀc)      (points)
//   c ← (1/N) ⊘ (G r)  (samples)
// and targets are N·diag(c) G diag(r). It ends on the samples: rows sum to one, the prior is met as
// far as the iterations went. float32 logits are computed with float32 kernels, float64 with
// float64; both read the matrix once an iteration.
//
// Any thread; calls may overlap. Each problem is solved on one thread, so their number changes no
// bit. AVX2 and AVX-512 kernels do the same operations on the same lanes and are written to give
// the same bits; the portable ones have no fused multiplication and differ in the last places.
// float32 on a CUDA device is solved there if libghops has CUDA kernels (docs/devices.md); all else
// is solved on the CPU and comes back to its device.
#pragma once

#include "gh/export.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gh {
inline namespace v1 {
namespace ops {

// The iterates are the same. Values are frozen; new ones are appended.
enum class SinkhornDomain : int {
  automatic = 0,  // linear where it is safe, otherwise log
  // As published. Where logits/ε span more than float32 can scale (42), float64 is used; where they
  // span more than that can (300), ErrorCode::numeric.
  linear = 1,
  // r and c are factors of logarithms, into which they are absorbed before they leave their range:
  // any finite logits.
  log = 2
};

// "auto", "linear" or "log"; ErrorCode::invalid_param for anything else.
GH_API SinkhornDomain sinkhorn_domain(std::string_view name);

// Later minors append; what a caller's struct_size does not reach has its default.
struct SinkhornOptions {
  uint32_t struct_size = sizeof(SinkhornOptions);
  // Sharpness of the plan, above 0; small is sharp.
  double epsilon = 0.05;
  // At most; at least 1.
  int64_t iterations = 300;
  // Stops after the iteration whose change is below it; 0: never. float32 does not get below some
  // 1e-7 a point.
  double tolerance = 0;
  // w in r ← r'·((π ⊘ Gᵀc) ⊘ r')ʷ and the like for c, 1 ≤ w < 2. The first iteration and the last
  // update of the samples are plain. Same fixed point in about a third of the iterations for 1.5;
  // too large a w does not converge: `change` shows it, or ErrorCode::numeric.
  double relaxation = 1;
  SinkhornDomain domain = SinkhornDomain::automatic;
  // Whether to fill SinkhornResult::trace.
  bool trace = false;
};

// Never grows.
struct SinkhornProblem {
  // [N, K] float32 or float64, finite, not empty.
  at::Tensor logits;
  // [K] floating, not negative, not all zero; it is divided by its sum. Points with a share of zero
  // (below 1e-100) get nothing. Undefined: uniform.
  at::Tensor prior;
};

// Never grows.
struct SinkhornResult {
  // [N, K], type and device of the logits.
  at::Tensor targets;
  // How many were done.
  int64_t iterations = 0;
  // Σ_k |r_k/r'_k − 1| of the last iteration, over points with a share; r' = 1/K before the first.
  double change = 0;
  // Largest |share of a point among the targets − prior|.
  double residual = 0;
  // Which one it was computed in.
  SinkhornDomain domain = SinkhornDomain::linear;
  // Change of every iteration, if asked for.
  std::vector<double> trace;
};

// All problems on one device, in parallel on LibTorch's threads. Gradients do not flow.
// ErrorCode::shape, ErrorCode::invalid_param and ErrorCode::numeric name what is wrong.
GH_API std::vector<SinkhornResult> sinkhorn(std::span<const SinkhornProblem> problems,
                                            const SinkhornOptions& options);

// One problem, whose targets let gradients flow to the logits (not to the prior) through all
// iterations. Keeps N + K numbers an iteration. Can be differentiated once.
GH_API SinkhornResult sinkhorn_with_gradient(const SinkhornProblem& problem,
                                             const SinkhornOptions& options);

// "avx512", "avx2" or "portable": the kernels used on this processor.
GH_API std::string_view sinkhorn_instructions();

}  // namespace ops
}  // namespace v1
}  // namespace gh
