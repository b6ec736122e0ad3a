// How near samples are to each other in the space of features: the p of t-SNE (van der Maaten and
// Hinton 2008), exact. Results have the same bits for any number of threads.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tsne {

// [N, D] → [N, N] float64, |x_i − x_j|².
at::Tensor squared_distances(const at::Tensor& x);

// Turns squared distances d_j of one sample to all, `own` being itself, into
//   p_j = exp(−β·d_j) / Σ_k exp(−β·d_k),  p_own = 0,
// with the β that makes exp(−Σ p_j·log p_j) the perplexity. Where there is none, because more
// samples than that lie equally near, these share p.
void calibrate(std::span<double> row, std::size_t own, double perplexity);

// p_ij = (p_j|i + p_i|j) / 2N from squared distances, whose memory is used: [N, N] float64, sum 1.
at::Tensor joint_affinities(at::Tensor distances, double perplexity);

}  // namespace tsne
