#include "forces.hpp"

#include "gh/ops/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tsne {
namespace {

constexpr int64_t kBlock = 64;
enum Sum { pull_x, pull_y, push_x, push_y, weight, kSums };

// Sums over all j for the rows of a block: p·w·(y_i − y_j), w²·(y_i − y_j) and w. The sums are of
// single rows, so the compiler may use vectors without changing the order of additions.
inline __attribute__((always_inline)) void sum_block(const float* x, const float* y, int64_t n,
                                                     const float* own_x, const float* own_y,
                                                     const float* p, float* sums) {
  float s[kSums][kBlock] = {};
  for (int64_t j = 0; j < n; ++j, p += kBlock) {
    const float xj = x[j], yj = y[j];
    for (int64_t i = 0; i < kBlock; ++i) {
      const float dx = own_x[i] - xj, dy = own_y[i] - yj;
      const float w = 1 / (1 + dx * dx + dy * dy);
      const float pull = p[i] * w, push = w * w;
      s[pull_x][i] += pull * dx;
      s[pull_y][i] += pull * dy;
      s[push_x][i] += push * dx;
      s[push_y][i] += push * dy;
      s[weight][i] += w;
    }
  }
  std::memcpy(sums, s, sizeof s);
}

using SumBlock = void (*)(const float*, const float*, int64_t, const float*, const float*,
                          const float*, float*);

void sum_block_portable(const float* x, const float* y, int64_t n, const float* own_x,
                        const float* own_y, const float* p, float* sums) {
  sum_block(x, y, n, own_x, own_y, p, sums);
}

#if defined(__x86_64__)
// Without fused multiplication: the bits are those of the portable form.
__attribute__((target("avx2"))) void sum_block_avx2(const float* x, const float* y, int64_t n,
                                                    const float* own_x, const float* own_y,
                                                    const float* p, float* sums) {
  sum_block(x, y, n, own_x, own_y, p, sums);
}
#endif

SumBlock best_sum_block() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return sum_block_avx2;
#endif
  return sum_block_portable;
}

}  // namespace

Forces::Forces(const at::Tensor& affinities)
    : n_(affinities.size(0)),
      blocks_((n_ + kBlock - 1) / kBlock),
      tiles_(static_cast<std::size_t>(blocks_ * n_ * kBlock), 0),
      sums_(static_cast<std::size_t>(blocks_ * kSums * kBlock)) {
  const double* const p = affinities.data_ptr<double>();
  gh::ops::parallel_indices(blocks_, [&](int64_t b) {
    const int64_t first = b * kBlock, rows = std::min(kBlock, n_ - first);
    float* out = tiles_.data() + b * n_ * kBlock;
    // Symmetric: a column is a row.
    for (int64_t j = 0; j < n_; ++j)
      for (int64_t i = 0; i < rows; ++i)
        out[j * kBlock + i] = static_cast<float>(p[j * n_ + first + i]);
  });
  std::vector<double> rows(static_cast<std::size_t>(n_), 0);
  gh::ops::parallel_indices(n_, [&](int64_t i) {
    for (int64_t j = 0; j < n_; ++j)
      if (const double value = p[i * n_ + j]; value > 0) rows[i] += value * std::log(value);
  });
  for (const double row : rows) p_log_p_ += row;
}

void Forces::gradient(const std::vector<float>& y, double exaggeration, std::vector<float>& out) {
  static const SumBlock sum = best_sum_block();
  const float *const px = y.data(), *const py = y.data() + n_;
  gh::ops::parallel_indices(blocks_, [&](int64_t b) {
    const int64_t first = b * kBlock, rows = std::min(kBlock, n_ - first);
    float own_x[kBlock] = {}, own_y[kBlock] = {};
    std::copy_n(px + first, rows, own_x);
    std::copy_n(py + first, rows, own_y);
    sum(px, py, n_, own_x, own_y, tiles_.data() + b * n_ * kBlock,
        sums_.data() + b * kSums * kBlock);
  });
  const auto at = [&](int64_t i, Sum which) {
    return static_cast<double>(sums_[(i / kBlock * kSums + which) * kBlock + i % kBlock]);
  };
  double z = 0;
  for (int64_t i = 0; i < n_; ++i) z += at(i, weight) - 1;  // without w_ii
  for (int64_t i = 0; i < n_; ++i) {
    out[i] = static_cast<float>(4 * (exaggeration * at(i, pull_x) - at(i, push_x) / z));
    out[n_ + i] = static_cast<float>(4 * (exaggeration * at(i, pull_y) - at(i, push_y) / z));
  }
}

// Σ p·log p + Σ p·log(1 + d²) + log Z, for Σ p = 1.
double Forces::kl(const std::vector<float>& y) const {
  std::vector<double> apart(static_cast<std::size_t>(n_), 0), weights = apart;
  gh::ops::parallel_indices(n_, [&](int64_t i) {
    const float* p = tiles_.data() + i / kBlock * n_ * kBlock + i % kBlock;
    for (int64_t j = 0; j < n_; ++j, p += kBlock) {
      if (i == j) continue;
      const double dx = static_cast<double>(y[i]) - y[j],
                   dy = static_cast<double>(y[n_ + i]) - y[n_ + j];
      const double reach = 1 + dx * dx + dy * dy;
      apart[i] += *p * std::log(reach);
      weights[i] += 1 / reach;
    }
  });
  double sum = 0, z = 0;
  for (const double a : apart) sum += a;
  for (const double w : weights) z += w;
  return p_log_p_ + sum + std::log(z);
}

}  // namespace tsne
