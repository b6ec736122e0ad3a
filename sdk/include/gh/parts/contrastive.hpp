// Losses that tell a row's partner from other rows. Rows are of unit length; own rows are compared
// with those of all ranks, and gradients flow to all of them.
#pragma once

#include "gh/host.hpp"
#include "gh/tensor.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/logsumexp.h>

#include <limits>

namespace gh::parts {

// Where the rows of this rank stand among those of all ranks, [B].
inline at::Tensor own_positions(Host& host, const at::Tensor& rows) {
  const int64_t count = rows.size(0);
  return at::arange(count, rows.options().dtype(at::kLong)) + host.facts().rank * count;
}

// NT-Xent (Chen et al. 2020): log((1 − p)/p) of each anchor, [2B], those of `a` first, where p is
// the softmax share of the partner among all rows of both views but the anchor. In this form
// neither p → 0 nor p → 1 cancels: −log p is −log_sigmoid(−odds), log(1 − p) is log_sigmoid(odds).
inline at::Tensor nt_xent_odds(Host& host, const at::Tensor& a, const at::Tensor& b,
                               double temperature) {
  const at::Tensor all_a = host.all_gather(a);
  const at::Tensor all_b = host.all_gather(b);
  const int64_t total = all_a.size(0);
  const at::Tensor similarity = at::cat({a, b}).matmul(at::cat({all_a, all_b}).t()) / temperature;
  const at::Tensor mine = own_positions(host, a);
  const at::Tensor self = at::cat({mine, mine + total}).unsqueeze(1);
  const at::Tensor partner = at::cat({mine + total, mine}).unsqueeze(1);
  const double none = -std::numeric_limits<double>::infinity();
  const at::Tensor negatives = similarity.scatter(1, at::cat({self, partner}, 1), none);
  return at::logsumexp(negatives, 1) - similarity.gather(1, partner).squeeze(1);
}

// NT-Xent of each sample, the mean of its two anchors', [B].
inline at::Tensor nt_xent(Host& host, const at::Tensor& a, const at::Tensor& b,
                          double temperature) {
  return -at::log_sigmoid(-nt_xent_odds(host, a, b, temperature)).view({2, a.size(0)}).mean(0);
}

// −log of the softmax share of q's partner among the rows of k, [B] (MoCo v3).
inline at::Tensor info_nce(Host& host, const at::Tensor& q, const at::Tensor& k,
                           double temperature) {
  const at::Tensor similarity = q.matmul(host.all_gather(k).t()) / temperature;
  const at::Tensor partner = own_positions(host, q).unsqueeze(1);
  return at::logsumexp(similarity, 1) - similarity.gather(1, partner).squeeze(1);
}

// −log of the softmax share of q's partner, the same row of k, among it and the rows of a bank
// [N, d], [B] (MoCo v2).
inline at::Tensor info_nce_of_bank(const at::Tensor& q, const at::Tensor& k, const at::Tensor& bank,
                                   double temperature) {
  const at::Tensor similarity =
      at::cat({(q * k).sum(1, true), q.matmul(bank.t())}, 1) / temperature;
  return at::logsumexp(similarity, 1) - similarity.select(1, 0);
}

}  // namespace gh::parts
