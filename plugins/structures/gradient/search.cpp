#include "search.hpp"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <vector>

namespace gradient {
namespace {

constexpr double kFirstTau = 0.3;
constexpr double kFirstStep = 0.3;  // root mean square of what rows move by, in radians
constexpr double kMomentum = 0.9;

// Takes the mean from all rows and gives them unit length again; returns the length of that mean.
// Repeated, it vanishes: a share of about 1/width is left each time.
double centre(const at::Tensor& x) {
  const RowBlocks blocks(x.size(0));
  const at::Tensor sums = at::zeros({blocks.count, x.size(1)}, x.options());
  blocks.each([&](int64_t block, int64_t first, int64_t n) {
    sums[block].copy_(x.narrow(0, first, n).sum(0));
  });
  const at::Tensor mean = sums[0].clone();
  for (int64_t block = 1; block < blocks.count; ++block) mean.add_(sums[block]);
  mean.div_(static_cast<double>(blocks.rows));
  blocks.each([&](int64_t, int64_t first, int64_t n) {
    const at::Tensor rows = x.narrow(0, first, n).sub_(mean);
    rows.div_(at::linalg_vector_norm(rows, 2, {1}, /*keepdim=*/true).clamp_min(1e-12));
  });
  return mean.norm().item<double>();
}

double length(const at::Tensor& x) {
  const RowBlocks blocks(x.size(0));
  std::vector<double> squares(blocks.count);
  blocks.each([&](int64_t block, int64_t first, int64_t n) {
    squares[block] = x.narrow(0, first, n).square().sum().item<double>();
  });
  double sum = 0;
  for (const double square : squares) sum += square;
  return std::sqrt(sum);
}

}  // namespace

at::Tensor search(const SearchPlan& plan, const at::Tensor& start) {
  const int64_t k = start.size(0);
  const RowBlocks blocks(k);
  // Single precision finds the place, double precision puts it right.
  at::Tensor x = start.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  for (int i = 0; i < 20; ++i) centre(x);
  const at::Tensor velocity = at::zeros_like(x);
  Potential potential(plan.form, k, x.size(1), x.options());
  const double first_tau = std::max(kFirstTau, plan.tau);
  for (int64_t i = 0; i < plan.steps; ++i) {
    const double done = static_cast<double>(i) / static_cast<double>(plan.steps);
    const double cooling = std::pow(plan.tau / first_tau, done);
    const at::Tensor direction = potential.at(x, first_tau * cooling).direction;
    // Gradients of an exponential span many orders of magnitude; their length says nothing. Below
    // the floor it is rounding.
    const double push =
        (1 - kMomentum) * std::sqrt(static_cast<double>(k)) / std::max(length(direction), 1e-6);
    const double step = kFirstStep * std::sqrt(cooling) * (1 - done);
    blocks.each([&](int64_t, int64_t first, int64_t n) {
      const at::Tensor rows = x.narrow(0, first, n), v = velocity.narrow(0, first, n);
      v.sub_(rows * (rows * v).sum(1, /*keepdim=*/true)).mul_(kMomentum);
      v.sub_(direction.narrow(0, first, n), push);
      rows.add_(v, step);
    });
    centre(x);
    centre(x);
  }
  x = x.to(at::kDouble);
  for (int i = 0; i < 500 && centre(x) > 1e-16; ++i) {
  }
  return x;
}

}  // namespace gradient
