#include "descent.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"
#include "gh/ops/parallel.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace tsne {
namespace {

constexpr int64_t kBlock = 64;  // rows
constexpr int kPowerIterations = 60;
constexpr double kStartDeviation = 1e-4;
constexpr int64_t kWatchEvery = 50;

// `x` · `v`, a block of rows on one thread each, so that bits do not depend on their number.
at::Tensor project(const at::Tensor& x, const at::Tensor& v) {
  at::Tensor out = at::empty({x.size(0), v.size(1)}, x.options());
  gh::ops::parallel_indices((x.size(0) + kBlock - 1) / kBlock, [&](int64_t b) {
    const int64_t first = b * kBlock, rows = std::min(kBlock, x.size(0) - first);
    at::Tensor part = out.narrow(0, first, rows);
    at::mm_out(part, x.narrow(0, first, rows), v);
  });
  return out;
}

// xᵀ · `u` as a sum over blocks in their order.
at::Tensor project_back(const at::Tensor& x, const at::Tensor& u) {
  const int64_t blocks = (x.size(0) + kBlock - 1) / kBlock;
  const at::Tensor parts = at::empty({blocks, x.size(1), u.size(1)}, x.options());
  gh::ops::parallel_indices(blocks, [&](int64_t b) {
    const int64_t first = b * kBlock, rows = std::min(kBlock, x.size(0) - first);
    at::Tensor part = parts[b];
    at::mm_out(part, x.narrow(0, first, rows).t(), u.narrow(0, first, rows));
  });
  at::Tensor out = at::zeros({x.size(1), u.size(1)}, x.options());
  for (int64_t b = 0; b < blocks; ++b) out.add_(parts[b]);
  return out;
}

// Gram-Schmidt on two columns; a column of nothing stays so.
void make_orthonormal(const at::Tensor& v) {
  auto a = v.accessor<double, 2>();
  for (int64_t k = 0; k < 2; ++k) {
    double along = 0, length = 0;
    if (k == 1)
      for (int64_t i = 0; i < v.size(0); ++i) along += a[i][0] * a[i][1];
    for (int64_t i = 0; i < v.size(0); ++i) {
      if (k == 1) a[i][1] -= along * a[i][0];
      length += a[i][k] * a[i][k];
    }
    for (int64_t i = 0; i < v.size(0) && length > 0; ++i) a[i][k] /= std::sqrt(length);
  }
}

}  // namespace

std::vector<float> principal_start(const at::Tensor& features, gh::Random random) {
  at::Tensor x = features.to(at::kDouble).contiguous();
  const int64_t n = x.size(0);
  const at::Tensor ones = at::empty({n, 1}, x.options()).fill_(1.0 / static_cast<double>(n));
  x = x - project_back(x, ones).t();
  at::Tensor v = at::empty({x.size(1), 2}, x.options());
  random.fill_normal(v, 0, 1);
  make_orthonormal(v);
  for (int i = 0; i < kPowerIterations; ++i) {
    v = project_back(x, project(x, v));
    make_orthonormal(v);
  }
  const at::Tensor plane = project(x, v);
  const auto at = plane.accessor<double, 2>();
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += at[i][0] * at[i][0];
  const double deviation = std::sqrt(squares / static_cast<double>(n));
  std::vector<float> out(static_cast<std::size_t>(2 * n), 0);
  for (int64_t i = 0; i < 2 * n && deviation > 0; ++i)
    out[i] = static_cast<float>(at[i % n][i / n] / deviation * kStartDeviation);
  return out;
}

std::vector<float> random_start(int64_t points, gh::Random random) {
  std::vector<float> out(static_cast<std::size_t>(2 * points));
  for (float& value : out) value = static_cast<float>(random.normal() * kStartDeviation);
  return out;
}

double descend(Forces& forces, const DescentPlan& plan, std::vector<float>& y) {
  const int64_t n = forces.points();
  std::vector<float> gradient(y.size()), velocity(y.size(), 0), gain(y.size(), 1);
  const int64_t exaggerated = std::min<int64_t>(250, plan.iterations / 4);
  const auto rate =
      static_cast<float>(std::max(static_cast<double>(n) / (4 * plan.exaggeration), 50.0));
  double kl = 0;
  for (int64_t i = 1; i <= plan.iterations; ++i) {
    gh::throw_if_interrupted();
    const bool early = i <= exaggerated;
    const float momentum = early ? 0.5f : 0.8f;
    forces.gradient(y, early ? plan.exaggeration : 1, gradient);
    for (std::size_t k = 0; k < y.size(); ++k) {
      // Grows while the gradient still points the way the coordinate goes.
      gain[k] = gradient[k] * velocity[k] < 0 ? gain[k] + 0.2f : std::max(gain[k] * 0.8f, 0.01f);
      velocity[k] = momentum * velocity[k] - rate * gain[k] * gradient[k];
      y[k] += velocity[k];
    }
    for (float* axis : {y.data(), y.data() + n}) {
      double mean = 0;
      for (int64_t k = 0; k < n; ++k) mean += axis[k] / static_cast<double>(n);
      for (int64_t k = 0; k < n; ++k) axis[k] -= static_cast<float>(mean);
    }
    if (i % kWatchEvery != 0 && i != plan.iterations) continue;
    kl = forces.kl(y);
    gh::require(std::isfinite(kl), gh::ErrorCode::numeric, "the map is not finite after ", i,
                " of ", plan.iterations, " iterations");
    if (plan.watch) plan.watch(i, kl);
  }
  return kl;
}

}  // namespace tsne
