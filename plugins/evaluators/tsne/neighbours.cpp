#include "neighbours.hpp"

#include "gh/ops/parallel.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tsne {
namespace {

// Order of nearness to sample `own`: by distance, then by number; the sample itself is last.
struct Nearer {
  const double* row;
  int64_t own;
  bool operator()(int64_t a, int64_t b) const {
    if (a == own || b == own) return b == own && a != own;
    return row[a] < row[b] || (row[a] == row[b] && a < b);
  }
};

}  // namespace

std::vector<std::vector<int64_t>> nearest(const at::Tensor& distances, int64_t k) {
  const int64_t n = distances.size(0);
  const double* const d = distances.data_ptr<double>();
  std::vector<std::vector<int64_t>> out(static_cast<std::size_t>(n));
  gh::ops::parallel_indices(n, [&](int64_t i) {
    std::vector<int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), Nearer{d + i * n, i});
    order.resize(static_cast<std::size_t>(k));
    out[i] = std::move(order);
  });
  return out;
}

double trustworthiness(const at::Tensor& distances,
                       const std::vector<std::vector<int64_t>>& map_neighbours) {
  const auto n = static_cast<int64_t>(map_neighbours.size());
  const auto k = static_cast<int64_t>(map_neighbours.front().size());
  const double* const d = distances.data_ptr<double>();
  std::vector<int64_t> excess(static_cast<std::size_t>(n), 0);
  gh::ops::parallel_indices(n, [&](int64_t i) {
    const Nearer nearer{d + i * n, i};
    for (const int64_t j : map_neighbours[i]) {
      int64_t rank = 1;
      for (int64_t other = 0; other < n; ++other) rank += nearer(other, j);
      excess[i] += std::max<int64_t>(rank - k, 0);
    }
  });
  const double total =
      static_cast<double>(std::accumulate(excess.begin(), excess.end(), int64_t{0}));
  return 1 - 2 * total / (static_cast<double>(n * k) * static_cast<double>(2 * n - 3 * k - 1));
}

std::vector<double> purity(const std::vector<std::vector<int64_t>>& neighbours,
                           const std::vector<int64_t>& label, int64_t labels) {
  std::vector<std::size_t> others(static_cast<std::size_t>(labels), 0);
  for (const int64_t c : label) ++others[static_cast<std::size_t>(c)];
  for (std::size_t& count : others) count -= count > 0;
  std::vector<double> same(others.size(), 0), all = same;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const auto c = static_cast<std::size_t>(label[i]);
    const std::size_t asked = std::min(neighbours[i].size(), others[c]);
    all[c] += static_cast<double>(asked);
    for (std::size_t j = 0; j < asked; ++j)
      same[c] += label[static_cast<std::size_t>(neighbours[i][j])] == label[i];
  }
  for (std::size_t c = 0; c < same.size(); ++c)
    same[c] = all[c] > 0 ? same[c] / all[c] : std::numeric_limits<double>::quiet_NaN();
  return same;
}

}  // namespace tsne
