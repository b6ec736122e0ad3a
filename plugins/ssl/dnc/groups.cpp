#include "groups.hpp"

#include "gh/ops/kmeans.hpp"
#include "gh/rows.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace dnc {
namespace {

using gh::ops::KMeansMetric;

constexpr int64_t kRounds = 100;  // more than K-means needs for a few groups
constexpr KMeansMetric kMetric = KMeansMetric::spherical;

// What the first rank has: processors may round differently.
at::Tensor of_first_rank(gh::Host& host, const at::Tensor& values) {
  return host.all_gather(values.unsqueeze(0).to(host.facts().device))[0].to(at::kCPU);
}

at::Tensor positions_where(const at::Tensor& chosen) { return chosen.nonzero().squeeze(1); }

// Those outside of the group whose direction is nearest to its centre: [2, missing].
at::Tensor nearest_guests(const at::Tensor& representations, const at::Tensor& centre,
                          const at::Tensor& labels, int64_t group, int64_t missing) {
  const at::Tensor cosines = gh::unit_rows(representations).mv(centre);
  const at::Tensor outside =
      cosines.masked_fill(labels == group, -std::numeric_limits<double>::infinity());
  const at::Tensor order = std::get<1>(outside.sort(/*stable=*/true, 0, /*descending=*/true));
  const at::Tensor positions = order.narrow(0, 0, missing);
  return at::stack({at::full_like(positions, group), positions});
}

}  // namespace

int64_t enough_for_batches(const gh::RunFacts& facts, int64_t samples) {
  if (facts.drop_last) return std::max(samples, facts.batch);
  const int64_t call = facts.batch / facts.accumulate;
  int64_t enough = std::max(samples, facts.world);
  while (enough % call / facts.world == 1 && call > facts.world) ++enough;
  return enough;
}

void Groups::make(gh::Host& host, const at::Tensor& representations) {
  const at::NoGradGuard no_grad;
  const at::Tensor start = gh::ops::kmeans_start(
      representations, count_, gh::ops::KMeansStart::plus_plus, kMetric, host.random("kmeans"));
  const gh::ops::KMeansResult found =
      gh::ops::kmeans(representations, start, {.metric = kMetric, .iterations = kRounds});
  labels_ = of_first_rank(host, found.labels);

  const int64_t all = labels_.size(0);
  std::vector<at::Tensor> guests;
  for (int64_t group = 0; group < count_; ++group) {
    const int64_t own = (labels_ == group).sum().item<int64_t>();
    const int64_t missing = std::min(enough_for_batches(host.facts(), own), all) - own;
    if (missing > 0)
      guests.push_back(
          nearest_guests(representations, found.centres[group], labels_, group, missing));
  }
  guests_ = guests.empty() ? at::Tensor() : of_first_rank(host, at::cat(guests, 1));
}

at::Tensor Groups::of(const at::Tensor& indices) const {
  return labels_.index_select(0, indices.to(at::kCPU));
}

at::Tensor Groups::samples(int64_t group) const {
  const at::Tensor own = positions_where(labels_ == group);
  if (!guests_.defined()) return own;
  return at::cat({own, guests_[1].index_select(0, positions_where(guests_[0] == group))});
}

int64_t Groups::guests(int64_t group) const {
  return guests_.defined() ? (guests_[0] == group).sum().item<int64_t>() : 0;
}

void Groups::visit_state(gh::State& state) {
  state.tensor("groups", labels_);
  state.tensor("guests", guests_);
}

}  // namespace dnc
