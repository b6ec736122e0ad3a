// How neighbours elect a class.
#pragma once

#include "gh/classification.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// The votes for each class, [queries, classes] float64; −1 for a class that no neighbour has.
// `neighbours` [queries, k] int64 are rows of the bank, nearest first, `labels` [bank] int64
// theirs. With `cosines` [queries, k] a neighbour weighs exp((cos − largest)/temperature): the same
// ranking as exp(cos/temperature), which small temperatures would take beyond any number. Without:
// one each.
inline at::Tensor count_votes(const at::Tensor& neighbours, const at::Tensor& cosines,
                              double temperature, const at::Tensor& labels, int64_t classes) {
  const int64_t queries = neighbours.size(0), k = neighbours.size(1);
  at::Tensor votes = at::full({queries, classes}, -1.0, at::kDouble);
  const at::Tensor of_neighbour =
      labels.index_select(0, neighbours.reshape({-1})).contiguous().view({queries, k});
  const at::Tensor weight =
      cosines.defined()
          ? ((cosines.to(at::kDouble) - cosines.to(at::kDouble).narrow(1, 0, 1)) / temperature)
                .exp()
                .contiguous()
          : at::full({queries, k}, 1.0, at::kDouble);
  double* const out = votes.data_ptr<double>();
  for (int64_t i = 0; i < queries * k; ++i) {
    double& vote = out[i / k * classes + of_neighbour.const_data_ptr<int64_t>()[i]];
    vote = std::fmax(vote, 0) + weight.const_data_ptr<double>()[i];
  }
  return votes;
}

// The classes of each query by votes, of equal ones the lower first, [queries, r] int64; −1 where
// no neighbour has a further class, so that it counts for none. Arguments as above.
inline at::Tensor elect(const at::Tensor& neighbours, const at::Tensor& cosines, double temperature,
                        const at::Tensor& labels, int64_t classes) {
  constexpr int64_t kBlock = 1024;  // votes of all queries for all classes would be large
  std::vector<at::Tensor> ranked;
  for (int64_t first = 0; first < neighbours.size(0); first += kBlock) {
    const int64_t some = std::min(kBlock, neighbours.size(0) - first);
    const at::Tensor votes = count_votes(
        neighbours.narrow(0, first, some),
        cosines.defined() ? cosines.narrow(0, first, some) : cosines, temperature, labels, classes);
    const at::Tensor order = gh::ranked_classes(votes);
    ranked.push_back(at::where(votes.gather(1, order) < 0, at::full({}, -1, at::kLong), order));
  }
  return at::cat(ranked);
}

}  // namespace
