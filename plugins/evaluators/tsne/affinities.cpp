#include "affinities.hpp"

#include "gh/ops/parallel.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tsne {
namespace {

constexpr int64_t kBlock = 64;  // rows

struct Entropy {
  double value;
  double slope;  // by log β
};

// Of p ∝ exp(−β·d), which is written to `p`. The nearest has d = 0, so that the sum is at least 1.
Entropy entropy(std::span<const double> d, std::size_t own, double beta, std::span<double> p) {
  double sum = 0, first = 0, second = 0;
  for (std::size_t j = 0; j < d.size(); ++j) {
    p[j] = j == own ? 0 : std::exp(-beta * d[j]);
    sum += p[j];
    first += p[j] * d[j];
    second += p[j] * d[j] * d[j];
  }
  for (double& value : p) value /= sum;
  const double mean = first / sum;
  return {std::log(sum) + beta * mean, -beta * beta * (second / sum - mean * mean)};
}

}  // namespace

at::Tensor squared_distances(const at::Tensor& features) {
  const at::Tensor x = features.to(at::kDouble).contiguous(), xt = x.t();
  const at::Tensor squares = x.square().sum(1);
  const int64_t n = x.size(0);
  at::Tensor out = at::empty({n, n}, at::kDouble);
  // Each block is one thread's, whatever their number.
  gh::ops::parallel_indices((n + kBlock - 1) / kBlock, [&](int64_t block) {
    const int64_t first = block * kBlock, rows = std::min(kBlock, n - first);
    at::Tensor part = out.narrow(0, first, rows);
    at::mm_out(part, x.narrow(0, first, rows), xt);
    part.mul_(-2).add_(squares).add_(squares.narrow(0, first, rows).unsqueeze(1)).clamp_min_(0);
    part.diagonal(first).zero_();
  });
  return out;
}

void calibrate(std::span<double> row, std::size_t own, double perplexity) {
  double nearest = std::numeric_limits<double>::infinity(), mean = 0;
  for (std::size_t j = 0; j < row.size(); ++j)
    if (j != own) nearest = std::min(nearest, row[j]);
  std::vector<double> d(row.begin(), row.end());
  for (std::size_t j = 0; j < d.size(); ++j) {
    d[j] = j == own ? 0 : d[j] - nearest;  // the same factor for all p
    mean += d[j] / static_cast<double>(d.size() - 1);
  }
  // Newton's steps on log β, kept between what was too small and what was too large.
  const double wanted = std::log(perplexity);
  double b = mean > 0 ? -std::log(mean) : 0;
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (int i = 0; i < 100; ++i) {
    const Entropy h = entropy(d, own, std::exp(b), row);
    const double excess = h.value - wanted;
    if (std::abs(excess) < 1e-12) return;
    (excess > 0 ? low : high) = b;
    double next =
        b + (h.slope < 0 ? std::clamp(-excess / h.slope, -2.0, 2.0) : std::copysign(2.0, excess));
    if (next <= low || next >= high) next = (low + high) / 2;
    if (next == b) return;
    b = next;
  }
}

at::Tensor joint_affinities(at::Tensor distances, double perplexity) {
  const int64_t n = distances.size(0);
  double* const p = distances.data_ptr<double>();
  gh::ops::parallel_indices(n, [&](int64_t i) {
    calibrate({p + i * n, static_cast<std::size_t>(n)}, static_cast<std::size_t>(i), perplexity);
  });
  // By tiles, so that columns are read as whole lines of the cache.
  const double scale = 0.5 / static_cast<double>(n);
  gh::ops::parallel_indices((n + kBlock - 1) / kBlock, [&](int64_t block) {
    const int64_t top = block * kBlock, bottom = std::min(top + kBlock, n);
    for (int64_t left = 0; left < bottom; left += kBlock)
      for (int64_t i = top; i < bottom; ++i)
        for (int64_t j = left; j < std::min(left + kBlock, i); ++j)
          p[i * n + j] = p[j * n + i] = (p[i * n + j] + p[j * n + i]) * scale;
  });
  return distances;
}

}  // namespace tsne
