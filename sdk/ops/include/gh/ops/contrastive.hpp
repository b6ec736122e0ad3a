// Contrastive losses over many columns: NT-Xent (Chen et al. 2020), InfoNCE (van den Oord et al.
// 2018) and their focal form, without the matrix of all scores.
//
//   at::Tensor losses = gh::ops::nt_xent(gh::unit_rows(z1), gh::unit_rows(z2), {.temperature =
//   0.2}); losses.mean().backward();
//
// Row i has a positive and negatives, with scores s = row · column / temperature_i, and
//   p_i = exp(s_i⁺) / (exp(s_i⁺) + Σ exp(s_ij) over its negatives)
//   ℓ_i = −(1 − p_i)ᵉ · log p_i                  e is the exponent, 0 the plain loss
// Loss and gradient are written in the odds, log Σ exp(s_ij) − s_i⁺, so that neither p → 0 nor
// p → 1 cancels. The gradient is a closed form that computes scores again, block by block: memory
// grows with the number of rows and columns, not with their product. Gradients flow to rows,
// columns and positives, once; not to temperatures.
//
// Any thread. float32 and float64, on LibTorch's threads, whose number changes no bit. float32 on a
// CUDA device is computed there if libghops has CUDA kernels (docs/devices.md); all else on the
// CPU. ErrorCode::shape and ErrorCode::invalid_param name what is wrong; a score that is no number
// makes a loss that is none.
#pragma once

#include "gh/export.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <string_view>

#if GH_SDK_MINOR < 1
#error "gh/ops/contrastive.hpp is of SDK 1.1, GH_SDK_TARGET asks for less"
#endif

namespace gh {
inline namespace v1 {
namespace ops {

// Later minors append; what a caller's struct_size does not reach has its default.
struct ContrastiveOptions {
  uint32_t struct_size = sizeof(ContrastiveOptions);
  double temperature = 0.2;  // above 0
  double exponent = 0;       // of the factor 1 − p, through which the gradient passes, too; ≥ 0
};

// The general form, of which the functions below are cases. Never grows.
struct ContrastiveProblem {
  at::Tensor rows;  // [n, d] float32 or float64
  // [m, d] like rows: every row sees all of them but its positive and what it skips as negatives.
  // Undefined: the rows themselves, of which each skips itself and is its positive's positive.
  at::Tensor columns;
  // One of the two: each row's positive among the columns, [n] int64, or beside them, [n, d].
  at::Tensor positive;
  at::Tensor positives;
  at::Tensor skipped;       // [n] int64, a column that is no negative of a row; undefined: none
  at::Tensor temperatures;  // [n] floating, in place of the option; undefined: that
};

// [n], the loss of each row.
GH_API at::Tensor contrastive_losses(const ContrastiveProblem& problem,
                                     const ContrastiveOptions& options);

// Two views a, b [B, d] of the same samples: [B], the mean over a sample's two anchors. Negatives
// of an anchor are all other samples' views, 2B − 2.
GH_API at::Tensor nt_xent(const at::Tensor& a, const at::Tensor& b,
                          const ContrastiveOptions& options);
// The same of some samples against those of all ranks, [T, d] each, where ours begin at `first`.
GH_API at::Tensor nt_xent(const at::Tensor& a, const at::Tensor& b, const at::Tensor& all_a,
                          const at::Tensor& all_b, int64_t first,
                          const ContrastiveOptions& options);

// Queries [B, d] against keys [T, d] of the other view alone, those of all ranks, where ours begin
// at `first`: [B]. As in MoCo v3 (Chen et al. 2021).
GH_API at::Tensor info_nce(const at::Tensor& queries, const at::Tensor& keys, int64_t first,
                           const ContrastiveOptions& options);
// Queries and their keys [B, d] against a queue [m, d]; other samples' keys are no negatives: [B].
// As in MoCo v2 (Chen et al. 2020).
GH_API at::Tensor info_nce_with_queue(const at::Tensor& queries, const at::Tensor& keys,
                                      const at::Tensor& queue, const ContrastiveOptions& options);

// "avx512", "avx2" or "portable": the kernels used on this processor.
GH_API std::string_view contrastive_instructions();

}  // namespace ops
}  // namespace v1
}  // namespace gh
