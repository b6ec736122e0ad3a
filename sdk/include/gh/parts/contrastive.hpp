// The contrastive losses of libghops among ranks: own rows against those of all, through which
// gradients flow. Needs LIBRARIES ghsdk::ghops.
#pragma once

#include "gh/host.hpp"
#include "gh/ops/contrastive.hpp"
#include "gh/rows.hpp"
#include "gh/tensor.hpp"

namespace gh::parts {

// Rows as the losses want them: of unit length. Autocast's short numbers are too coarse for odds.
inline at::Tensor loss_rows(const at::Tensor& z) {
  return unit_rows(z.scalar_type() == at::kDouble ? z : z.to(at::kFloat));
}

// NT-Xent of each sample of this rank, [B]: the mean of its two anchors. Embeddings [B, d] of any
// length.
inline at::Tensor nt_xent(Host& host, const at::Tensor& z1, const at::Tensor& z2,
                          const ops::ContrastiveOptions& options) {
  const at::Tensor a = loss_rows(z1), b = loss_rows(z2);
  if (host.facts().world == 1) return ops::nt_xent(a, b, options);
  const at::Tensor all_a = host.all_gather(a), all_b = host.all_gather(b);
  return ops::nt_xent(a, b, all_a, all_b, host.facts().rank * a.size(0), options);
}

// InfoNCE of each query against the keys of all ranks, [B]; its own key is at the same row.
inline at::Tensor info_nce(Host& host, const at::Tensor& queries, const at::Tensor& keys,
                           double temperature) {
  const at::Tensor q = loss_rows(queries), k = host.all_gather(loss_rows(keys));
  return ops::info_nce(q, k, host.facts().rank * q.size(0), {.temperature = temperature});
}

}  // namespace gh::parts
