// What a map keeps of its data's neighbourhoods.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <vector>

namespace tsne {

// Of each row of squared distances [N, N] float64 the k nearest others, nearest first, of equally
// near ones the first: [N][k].
std::vector<std::vector<int64_t>> nearest(const at::Tensor& distances, int64_t k);

// Venna and Kaski 2001: 1 − 2/(N·k·(2N − 3k − 1)) · Σ_i Σ_j (r(i, j) − k), over those j of the k
// nearest in the map that are none of the k nearest in the data, where j is the r-th nearest. 1:
// the map shows no false neighbours. k < N/2.
double trustworthiness(const at::Tensor& data_distances,
                       const std::vector<std::vector<int64_t>>& map_neighbours);

// Share of the nearest neighbours of each sample that have its label, mean over the samples of each
// label: [labels]; labels are 0 … labels-1. A sample is asked for as many neighbours as there are
// others of its label, at most the k given, so that small classes can reach 1, too. NaN for a label
// of one sample.
std::vector<double> purity(const std::vector<std::vector<int64_t>>& neighbours,
                           const std::vector<int64_t>& label, int64_t labels);

}  // namespace tsne
